// In place of highlight.js, with which mdBook colours code: the book needs no colours.
const hljs = { configure() {}, highlightBlock() {} };
