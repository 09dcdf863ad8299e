import { postJson } from '../shared/host.ts';

/** Sentences for what the server says with the address of this page. */
const failures = new Map([
  ['expired', 'The login took longer than ten minutes, or was begun in another browser. Begin again.'],
  ['issuer', 'Your organization did not confirm the login. Begin again.'],
  ['no-account', 'You have no account here. Ask the person who runs the queue to invite you.'],
]);

const byId = (id: string): HTMLElement => document.getElementById(id)!;
const given = new URLSearchParams(location.hash.slice(1));
/** Key under which this tab keeps an invitation that is not used yet, so that the page can be loaded again. */
const keptKey = 'heddle-invitation';
const invitation = given.get('invitation') ?? sessionStorage.getItem(keptKey);

function say(message: string): void {
  byId('message').textContent = message;
}

/** Sends a request to the server of this page, and returns its answer; undefined after a refusal, which the page then shows. */
async function send(path: string, body: object): Promise<Record<string, unknown> | undefined> {
  try {
    const response = await postJson(path + location.search, body);
    const answer = await response.json();
    if (response.ok) return answer;
    const wait = response.headers.get('retry-after');
    const later = wait === null ? '' : ` Try again in ${Math.ceil(Number(wait) / 60)} min.`;
    say(`${answer.error}.${later}`);
  } catch {
    say('The server does not answer. Try again later.');
  }
  return undefined;
}

/** Sends a request, and goes where the server says. Returns false after a refusal. */
async function goOn(path: string, body: object): Promise<boolean> {
  say('');
  const answer = await send(path, body);
  if (answer) location.replace(String(answer.location));
  return answer !== undefined;
}

/** Shows how the person can log in, unless this browser is logged in. */
async function offerLogin(): Promise<void> {
  const response = await postJson(`session${location.search}`, {}).catch(() => undefined);
  if (!response) return say('The server does not answer. Try again later.');
  if (response.ok) return location.replace(`./${location.search}`);
  const { error, has_issuer } = await response.json();
  if (response.status !== 401) say(`${error}.`);
  else if (byId('message').textContent === '')
    say('If an invitation brought you here before, ask whoever sent it for a new link: each works once.');
  byId('issuer').hidden = !has_issuer;
  byId('password').hidden = false;
}

/** Says whose an invitation is, and offers to use it; goes on where this browser is logged in as that person already. */
async function offerInvitation(token: string): Promise<void> {
  const found = (await send('invitation', { token, check: true })) as Record<string, string> | undefined;
  // The page can be loaded again when the server answers.
  if (!found) return;
  const { account, current, fault, location: place } = found;
  if (account !== undefined && account === current) {
    sessionStorage.removeItem(keptKey);
    return location.replace(place!);
  }
  if (fault !== undefined) {
    sessionStorage.removeItem(keptKey);
    say(`${fault}. Log in below, or ask for a new link.`);
    // A browser that is logged in as someone else stays here and sees why.
    if (current === undefined) return offerLogin();
    say(`${fault}. You are logged in here as ${current}.`);
    byId('logged-in').hidden = false;
    return;
  }
  const instead = current === undefined ? '' : ` You are logged in here as ${current}; that ends.`;
  byId('who').textContent = `You are invited to judge as ${account}.${instead}`;
  byId('invitation').hidden = false;
}

byId('password').addEventListener('submit', (event) => {
  event.preventDefault();
  const fields = new FormData(event.target as HTMLFormElement);
  void goOn('password', { name: fields.get('name'), password: fields.get('password') });
});
byId('issuer')
  .querySelector('button')!
  .addEventListener('click', () => void goOn('issuer', {}));
byId('invitation')
  .querySelector('button')!
  .addEventListener('click', async () => {
    if (await goOn('invitation', { token: invitation })) {
      sessionStorage.removeItem(keptKey);
      return;
    }
    byId('invitation').hidden = true;
    await offerInvitation(invitation!);
  });

// A link that is opened in this tab changes the address only.
window.addEventListener('hashchange', () => location.reload());
// The secret must not stay in the history of the browser.
history.replaceState(null, '', location.pathname + location.search);
if (invitation === null) {
  say(failures.get(given.get('failed') ?? '') ?? '');
  void offerLogin();
} else {
  sessionStorage.setItem(keptKey, invitation);
  void offerInvitation(invitation);
}
