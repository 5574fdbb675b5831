//! Messages in the encoding of protocol buffers, as far as a profile of pprof needs it
//! (<https://protobuf.dev/programming-guides/encoding/>).

/// A message while it is written. A number that is 0 is left out: that is what its absence means.
#[derive(Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

/// A number of variable length.
const VARINT: u64 = 0;
/// A length and so many bytes.
const BYTES: u64 = 2;

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    pub(crate) fn number(&mut self, field: u64, number: u64) {
        if number > 0 {
            self.varint(field << 3 | VARINT);
            self.varint(number);
        }
    }

    pub(crate) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | BYTES);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.bytes);
    }

    /// Several numbers, also those that are 0.
    pub(crate) fn numbers(&mut self, field: u64, numbers: impl IntoIterator<Item = u64>) {
        let mut packed = Message::default();
        numbers.into_iter().for_each(|number| packed.varint(number));
        self.message(field, &packed);
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification.
    #[test]
    fn messages_are_encoded_as_specified() {
        let mut message = Message::default();
        message.number(1, 150);
        message.bytes(2, b"testing");
        message.number(3, 0);
        message.numbers(6, [3, 270, 86_942]);
        let expected = [
            &[0x08, 0x96, 0x01, 0x12, 0x07][..],
            b"testing",
            &[0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05],
        ];
        assert_eq!(message.finish(), expected.concat());
    }
}
