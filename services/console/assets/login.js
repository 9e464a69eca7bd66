// Signs in with the token of the form, or of the address (/login#token=…): what stands behind # is never sent.

const answer = document.getElementById('answer');
const field = document.getElementById('token');

/** A path of this site, or the first page: `next` comes from the address, which anybody may write. */
function target() {
  const next = new URLSearchParams(location.search).get('next') ?? '/';
  const url = URL.canParse(next, location.origin) ? new URL(next, location.origin) : null;
  return url !== null && url.origin === location.origin ? url.pathname + url.search : '/';
}

async function signIn(token) {
  const response = await fetch('/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  if (response.ok) {
    location.replace(target());
    return;
  }
  const body = await response.json().catch(() => ({}));
  answer.textContent = body.detail ?? `The answer was ${response.status}.`;
  field.focus();
}

document.getElementById('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  signIn(field.value.trim()).catch(() => {
    answer.textContent = 'No answer. Is Headgate running?';
  });
});

const given = new URLSearchParams(location.hash.slice(1)).get('token');
if (given) {
  // Out of the address, the history and whatever copies them, before anything else.
  history.replaceState(null, '', location.pathname + location.search);
  signIn(given).catch(() => {
    answer.textContent = 'No answer. Is Headgate running?';
  });
}
