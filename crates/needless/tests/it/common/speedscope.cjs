// node speedscope.cjs FOLDER FILE: reads FILE with the importer of speedscope, which is unpacked in FOLDER, and prints
// what it saw as JSON. Its package has no entry for programs: the importer is taken out of the page's script, which then
// fails to draw where there is no page.
const fs = require("fs");
const path = require("path");
const [folder, file] = process.argv.slice(2);
const script = fs.readdirSync(folder).find((name) => /^speedscope-.*\.js$/.test(name));
const page = fs.readFileSync(path.join(folder, script), "utf8");
const entry = /async function \w+\(t,e\)\{return\(await (\w+)\)\.importProfilesFromArrayBuffer/;
console.log = () => {};
// A page that is not there: whatever is asked of it is itself, but for the kinds of numbers that a page may have.
const absent = { Long: true, dcodeIO: true };
const nothing = new Proxy(function () {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "" : name in absent ? undefined : nothing),
  apply: () => nothing,
  construct: () => nothing,
});
Object.assign(globalThis, { window: nothing, document: nothing });
try {
  (0, eval)(page.replace(entry, "globalThis.importers=$1;$&"));
} catch (error) {
  if (!globalThis.importers) throw error;
}
process.on("unhandledRejection", (error) => {
  process.stderr.write(`${error && error.stack}\n`);
  process.exit(1);
});
(async () => {
  const { importProfilesFromArrayBuffer } = await globalThis.importers;
  const bytes = fs.readFileSync(file);
  const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const group = await importProfilesFromArrayBuffer(path.basename(file), whole);
  const profiles = group.profiles.map((profile) => {
    const frames = [];
    profile.forEachFrame((frame) => frames.push(frame.name));
    const unit = profile.getWeightUnit();
    return { name: profile.getName(), unit, total: profile.getTotalWeight(), frames };
  });
  process.stdout.write(JSON.stringify({ name: group.name, profiles }));
})();
