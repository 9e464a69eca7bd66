// Keeps a page fresh, moves by keyboard, and sends what buttons mean. Every page works without it but for the buttons.

const REFRESH_MS = 2_000;
const live = document.getElementById('live');
let lastFresh = new Date();

/** Makes `now` look like `next` with as few changes as possible, so that nothing jumps and the focus stays. */
function patch(now, next) {
  if (now.nodeType !== next.nodeType || now.nodeName !== next.nodeName) {
    now.replaceWith(next.cloneNode(true));
    return;
  }
  if (now.nodeType === Node.TEXT_NODE) {
    if (now.data !== next.data) now.data = next.data;
    return;
  }
  if (now.nodeType !== Node.ELEMENT_NODE) return;
  for (const { name } of [...now.attributes]) if (!next.hasAttribute(name)) now.removeAttribute(name);
  for (const { name, value } of next.attributes)
    if (now.getAttribute(name) !== value) now.setAttribute(name, value);
  patchChildren(now, next);
}

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.getAttribute('data-key') : null);

function patchChildren(now, next) {
  const byKey = new Map();
  for (const child of now.childNodes) if (keyOf(child)) byKey.set(keyOf(child), child);
  let at = now.firstChild;
  for (const wanted of [...next.childNodes]) {
    const key = keyOf(wanted);
    const known = key ? byKey.get(key) : at && !keyOf(at) ? at : null;
    if (!known) {
      now.insertBefore(wanted.cloneNode(true), at);
      continue;
    }
    if (known !== at) now.insertBefore(known, at);
    const after = known.nextSibling;
    patch(known, wanted);
    at = after;
  }
  while (at) {
    const after = at.nextSibling;
    at.remove();
    at = after;
  }
}

async function refresh() {
  if (document.hidden) return;
  try {
    const response = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' });
    if (response.redirected && new URL(response.url).pathname === '/login') {
      location.href = response.url;
      return;
    }
    if (!response.ok) throw new Error(String(response.status));
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const next = page.querySelector('main');
    const answer = document.getElementById('answer');
    const said = answer ? answer.textContent : '';
    if (next) patch(document.querySelector('main'), next);
    const kept = document.getElementById('answer');
    if (kept && said) kept.textContent = said;
    lastFresh = new Date();
    say('● live');
  } catch {
    say(`○ no answer; as of ${lastFresh.toISOString().slice(11, 19)} UTC`);
  }
}

function say(text) {
  if (live && live.textContent !== text) live.textContent = text;
}

if (document.body.dataset.live === 'yes') {
  say('● live');
  const again = () => setTimeout(() => refresh().finally(again), REFRESH_MS);
  again();
  document.addEventListener('visibilitychange', () => void refresh());
}

async function post(path) {
  const answer = document.getElementById('answer');
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  const body = await response.json().catch(() => ({}));
  if (!response.ok) {
    if (answer) answer.textContent = `${body.code ?? response.status}: ${body.detail ?? ''}`;
    return;
  }
  if (path.endsWith('/retry') && body.runId) {
    location.href = `/runs/${encodeURIComponent(body.runId)}`;
    return;
  }
  if (answer) answer.textContent = 'Done.';
  await refresh();
}

document.addEventListener('click', (event) => {
  const button = event.target instanceof Element ? event.target.closest('button') : null;
  if (!button) return;
  if (button.dataset.action) {
    button.disabled = true;
    post(button.dataset.action).finally(() => {
      button.disabled = false;
    });
  }
  if ('signOut' in button.dataset) {
    fetch('/session', { method: 'DELETE' }).finally(() => {
      location.href = '/login';
    });
  }
});

document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
  if (event.key === 'Escape' && isTyping) event.target.blur();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === '/') {
    event.preventDefault();
    document.getElementById('search')?.focus();
  }
  if (event.key === 'j' || event.key === 'k') {
    const rows = [...document.querySelectorAll('[data-row]')];
    const at = rows.indexOf(document.activeElement);
    const next = event.key === 'j' ? Math.min(rows.length - 1, at + 1) : Math.max(0, at - 1);
    rows[next]?.focus();
  }
});
