// Buttons that copy, the icicle, and what is opened for a printer. The page is complete without it.
'use strict';
document.documentElement.classList.add('js');

function copied(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done ? Promise.resolve() : Promise.reject(new Error('refused'));
}

for (const button of document.querySelectorAll('button.copy')) {
  const label = button.textContent;
  button.addEventListener('click', () => {
    const say = (word) => {
      button.textContent = word;
      setTimeout(() => { button.textContent = label; }, 1500);
    };
    copied(button.dataset.text).then(() => say('copied'), () => say('not copied'));
  });
}

let closed = [];
addEventListener('beforeprint', () => {
  closed = [...document.querySelectorAll('details:not([open])')].filter((one) => !one.matches('.tree'));
  for (const one of closed) one.open = true;
});
addEventListener('afterprint', () => {
  for (const one of closed) one.open = false;
});

// The list of all calls, as a tree: { name, calls, cause, kids, up }.
function read(item, up) {
  const node = {
    name: item.querySelector(':scope > b').textContent,
    calls: Number(item.dataset.n),
    cause: item.dataset.c || '',
    says: item.dataset.s || '',
    up,
    kids: [],
  };
  for (const kid of item.querySelectorAll(':scope > ul > li')) node.kids.push(read(kid, node));
  return node;
}

function icicle(place, root) {
  const ROW = 30;
  const number = (n) => n.toLocaleString('en');
  const part = (n) => (100 * n / Math.max(root.calls, 1)).toFixed(1) + ' %';
  const at = document.querySelector('.at');
  const search = document.querySelector('#find');
  const results = document.querySelector('#found');
  let top = root;
  let focused = root;
  let buttons = new Map();

  const label = (node) =>
    `${node.name}: ${number(node.calls)} calls, ${part(node.calls)}${node.says ? ', ' + node.says : ''}`;
  const matches = (node, text) => (node.name + ' ' + node.says).toLowerCase().includes(text);

  // The calls of a node by cause, for the strip below its name.
  function causes(node, sums = new Map()) {
    if (!node.kids.length) sums.set(node.cause, (sums.get(node.cause) || 0) + node.calls);
    for (const kid of node.kids) causes(kid, sums);
    return sums;
  }
  function strip(node) {
    const line = document.createElement('i');
    let from = 0;
    const stops = [];
    const sums = [...causes(node)].sort((one, other) => (one[0] === 'needed') - (other[0] === 'needed'));
    for (const [cause, calls] of sums) {
      const to = from + 100 * calls / Math.max(node.calls, 1);
      stops.push(`var(--${cause}) ${from}% ${to}%`);
      from = to;
    }
    line.style.backgroundImage = `linear-gradient(to right, ${stops.join(', ')})`;
    return line;
  }

  function put(node, left, width, row) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = node.name;
    button.title = label(node);
    button.setAttribute('aria-label', label(node));
    button.style.left = left + '%';
    button.style.width = width + '%';
    button.style.top = row * ROW + 'px';
    if (node.kids.length) button.append(strip(node));
    else button.className = 'leaf ' + node.cause;
    button.tabIndex = node === focused ? 0 : -1;
    button.addEventListener('click', () => zoom(node));
    button.addEventListener('focus', () => { at.textContent = label(node); });
    button.addEventListener('mouseenter', () => { at.textContent = label(node); });
    place.append(button);
    buttons.set(node, button);
  }
  function below(node, left, width, row) {
    put(node, left, width, row);
    let deepest = row;
    for (const kid of node.kids) {
      const share = width * kid.calls / Math.max(node.calls, 1);
      // A narrower one cannot be seen or hit: it is in the list, and shows when its program is large.
      if (share >= 0.15) deepest = Math.max(deepest, below(kid, left, share, row + 1));
      left += share;
    }
    return deepest;
  }
  function draw() {
    place.replaceChildren();
    buttons = new Map();
    const path = [];
    for (let node = top.up; node; node = node.up) path.unshift(node);
    path.forEach((node, row) => put(node, 0, 100, row));
    const deepest = below(top, 0, 100, path.length);
    place.style.height = (deepest + 1) * ROW + 'px';
    mark();
  }
  function zoom(node) {
    top = node.kids.length ? node : node.up || node;
    focused = node;
    draw();
    at.textContent = label(node);
    buttons.get(node)?.focus();
  }

  function mark() {
    const text = search.value.trim().toLowerCase();
    for (const [node, button] of buttons) {
      button.classList.toggle('found', Boolean(text) && matches(node, text));
      button.classList.toggle('off', Boolean(text) && !matches(node, text));
    }
  }
  // The outermost nodes that match: what is below them is not counted twice.
  function found(node, text) {
    if (matches(node, text)) return [node];
    return node.kids.flatMap((kid) => found(kid, text));
  }
  search.addEventListener('input', () => {
    const text = search.value.trim().toLowerCase();
    const all = text ? found(root, text) : [];
    const calls = all.reduce((sum, node) => sum + node.calls, 0);
    results.textContent = text ? `${number(calls)} calls, ${part(calls)}` : '';
    mark();
  });
  search.addEventListener('keydown', (event) => {
    const text = search.value.trim().toLowerCase();
    if (event.key !== 'Enter' || !text) return;
    const [first] = found(root, text);
    if (first) zoom(first);
  });
  document.querySelector('#whole').addEventListener('click', () => zoom(root));

  place.addEventListener('keydown', (event) => {
    const go = (node) => {
      if (!node || !buttons.has(node)) return;
      buttons.get(focused)?.setAttribute('tabindex', '-1');
      focused = node;
      buttons.get(node).tabIndex = 0;
      buttons.get(node).focus();
    };
    const shown = (nodes) => nodes.filter((node) => buttons.has(node));
    const beside = (step) => {
      const row = focused.up ? shown(focused.up.kids) : [focused];
      go(row[row.indexOf(focused) + step]);
    };
    const keys = {
      ArrowRight: () => beside(1),
      ArrowLeft: () => beside(-1),
      ArrowDown: () => go(shown(focused.kids)[0]),
      ArrowUp: () => go(focused.up),
      Escape: () => zoom(top.up || root),
      Home: () => zoom(root),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  // A click moves the focus, too.
  place.addEventListener('focusin', (event) => {
    for (const [node, button] of buttons) if (button === event.target) focused = node;
  });
  draw();
}

const list = document.querySelector('.tree > ul > li');
if (list) icicle(document.querySelector('.icicle'), read(list, null));
