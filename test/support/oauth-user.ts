import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';

const redirectUrl = 'http://127.0.0.1/callback';

/** Keeps what the SDK's client stores, and signs in like a user with a browser. */
export class OAuthUser implements OAuthClientProvider {
  readonly redirectUrl = redirectUrl;
  readonly clientMetadata: OAuthClientMetadata = {
    client_name: 'test',
    application_type: 'native',
    redirect_uris: [redirectUrl],
    token_endpoint_auth_method: 'none',
  };
  /** URLs that the client opened in the browser. */
  readonly visited: URL[] = [];
  readonly #name: string;
  readonly #cookies = new Map<string, string>();
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = '';
  #discovered: OAuthDiscoveryState | undefined;

  /** Without `client`, the client registers itself at the authorization server. */
  constructor(name: string, client?: StoredOAuthClientInformation) {
    this.#name = name;
    this.#client = client;
  }

  clientInformation = (): StoredOAuthClientInformation | undefined => this.#client;
  saveClientInformation = (client: StoredOAuthClientInformation): void => {
    this.#client = client;
  };
  tokens = (): StoredOAuthTokens | undefined => this.#tokens;
  saveTokens = (tokens: StoredOAuthTokens): void => {
    this.#tokens = tokens;
  };
  codeVerifier = (): string => this.#verifier;
  saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier;
  };
  discoveryState = (): OAuthDiscoveryState | undefined => this.#discovered;
  saveDiscoveryState = (discovered: OAuthDiscoveryState): void => {
    this.#discovered = discovered;
  };
  redirectToAuthorization = (address: URL): void => {
    this.visited.push(address);
  };

  /** Signs in at the last opened URL and hands the result to the client. */
  async signIn(transport: Pick<StreamableHTTPClientTransport, 'finishAuth'>): Promise<void> {
    await transport.finishAuth(await this.browse());
  }

  /** Signs in at the last opened URL, gives consent, and returns the parameters of the redirect to `redirect`. */
  async browse(redirect = redirectUrl): Promise<URLSearchParams> {
    let address = this.visited.at(-1)!;
    let form: URLSearchParams | undefined;
    while (!address.href.startsWith(redirect)) {
      const answer = await fetch(address, {
        redirect: 'manual',
        headers: { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
        ...(form && { method: 'POST', body: form }),
      });
      for (const cookie of answer.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
        if (value === '') this.#cookies.delete(name!);
        else this.#cookies.set(name!, value!);
      }
      const page = await answer.text();
      const location = answer.headers.get('location');
      form = undefined;
      if (location !== null) {
        address = new URL(location, address);
        continue;
      }
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
      if (prompt === undefined) throw new Error(`no form at ${address}: ${answer.status} ${page.slice(0, 500)}`);
      address = new URL(/<form[^>]* action="([^"]+)"/.exec(page)![1]!, address);
      form = new URLSearchParams({ prompt, login: this.#name, password: 'any' });
    }
    return address.searchParams;
  }
}
