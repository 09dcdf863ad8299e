import type { ClientAuth, Configuration, CustomFetchOptions } from 'openid-client';
import { notConfigured } from '../../core/errors.ts';
import { HttpClient, readBody } from '../../core/http/http-client.ts';
import { isLoopbackHost } from '../../core/http/loopback.ts';
import { Refusal } from '../../core/http/refusal.ts';
import type { Log } from '../../core/log.ts';
import type { SettingValues } from '../../settings/settings.ts';

/** What a browser keeps while its person is at the issuer. */
export interface PendingLogin {
  state: string;
  nonce: string;
  /** The code verifier (PKCE), without which nobody can use the code that the issuer sends. */
  verifier: string;
  startedAtMs: number;
}

/** Largest response of the issuer, in bytes. */
const maxResponseBytes = 1024 * 1024;
const timeoutSeconds = 10;

/** Lets people log in at an OpenID Connect issuer (authorization code with PKCE, state and nonce). */
export class IssuerLogin {
  readonly #issuer: string;
  readonly #clientId: string;
  readonly #clientSecret: string | undefined;
  readonly #log: Log;
  readonly #httpClient: HttpClient;
  #discovered: Promise<Configuration> | undefined;

  private constructor(issuer: string, clientId: string, values: SettingValues, log: Log) {
    this.#issuer = issuer;
    this.#clientId = clientId;
    this.#clientSecret = values.loginClientSecret;
    this.#log = log;
    this.#httpClient = new HttpClient({ proxies: values });
  }

  /**
   * Returns the login that the settings ask for; undefined without an issuer.
   * @throws HeddleError `not_configured` for an issuer without a client id, or the other way round.
   */
  static from(values: SettingValues, log: Log): IssuerLogin | undefined {
    const { loginIssuer, loginClientId } = values;
    if (loginIssuer !== undefined && loginClientId !== undefined) {
      return new IssuerLogin(loginIssuer, loginClientId, values, log);
    }
    if (loginIssuer === undefined && loginClientId === undefined) return undefined;
    throw notConfigured(
      'For a login at an issuer, the board needs both the issuer and the client id that it has there.',
      'Set HEDDLE_LOGIN_ISSUER and HEDDLE_LOGIN_CLIENT_ID, or neither.',
    );
  }

  /**
   * Begins a login.
   * @param redirectUri address of the board to which the issuer sends the person back; the issuer must know it.
   * @returns the address at the issuer, and what the browser must keep.
   * @throws Refusal 503 if the issuer cannot be asked.
   */
  async begin(redirectUri: string): Promise<{ address: string; pending: PendingLogin }> {
    const [client, configuration] = await Promise.all([import('openid-client'), this.#discover()]);
    const pending = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      startedAtMs: Date.now(),
    };
    const address = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: 'openid email',
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
    });
    return { address: address.href, pending };
  }

  /**
   * Finishes a login.
   * @param returned the address with which the issuer sent the person back.
   * @returns the names that the person's account may have: the verified email address, or else the subject unless it looks like an
   * address, which nobody would have verified; or why the login failed, without secrets.
   */
  async finish(
    returned: URL,
    { state, nonce, verifier }: PendingLogin,
  ): Promise<{ names: string[] } | { failure: string }> {
    const [client, configuration] = await Promise.all([import('openid-client'), this.#discover()]);
    try {
      const tokens = await client.authorizationCodeGrant(configuration, returned, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const { sub, ...claims } = tokens.claims()!;
      const hasInfo = claims.email === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined;
      const { email, email_verified } = hasInfo
        ? await client.fetchUserInfo(configuration, tokens.access_token, sub)
        : claims;
      const names = typeof email === 'string' && email_verified === true ? [email] : [];
      return { names: sub.includes('@') ? names : [...names, sub] };
    } catch (error) {
      const { code, error: reason, status } = error as { code?: unknown; error?: unknown; status?: unknown };
      if (status === 401) return { failure: 'the issuer refused the client id or the client secret of heddle' };
      const known = [reason, code].find((each) => typeof each === 'string' && /^\w{1,64}$/.test(each));
      return { failure: `the issuer's answer cannot be used (${known ?? 'unknown'})` };
    }
  }

  close(): void {
    this.#httpClient.close();
  }

  /** Reads the metadata of the issuer, once. A failure makes the next login try again. */
  #discover(): Promise<Configuration> {
    this.#discovered ??= this.#readMetadata().catch((error: Error & { code?: string; cause?: unknown }) => {
      this.#discovered = undefined;
      const cause = error.cause instanceof Error ? error.cause.message : undefined;
      this.#log('error', 'the issuer of logins cannot be asked', { issuer: this.#issuer, error: error.message, cause });
      throw new Refusal(503, 'Service unavailable: the issuer of logins cannot be asked');
    });
    return this.#discovered;
  }

  async #readMetadata(): Promise<Configuration> {
    const client = await import('openid-client');
    const issuer = new URL(this.#issuer);
    const options = {
      [client.customFetch]: (url: string, request: CustomFetchOptions) => this.#fetch(url, request),
      timeout: timeoutSeconds,
      // The settings accept http for this machine only.
      execute: isLoopbackHost(issuer.hostname) ? [client.allowInsecureRequests] : [],
    };
    const secret = this.#clientSecret;
    const withSecret: ClientAuth = (server, ...rest) => {
      const isBasic = server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true;
      (isBasic ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret))(server, ...rest);
    };
    return client.discovery(
      issuer,
      this.#clientId,
      undefined,
      secret === undefined ? client.None() : withSecret,
      options,
    );
  }

  /** Sends a request of the library with heddle's own client, which knows the proxies. */
  async #fetch(url: string, { method, headers, body, signal }: CustomFetchOptions): Promise<Response> {
    const response = await this.#httpClient.send({
      method: method as 'GET' | 'POST',
      url,
      headers,
      body: body instanceof URLSearchParams ? body.toString() : (body as string | Uint8Array | undefined),
      signal: signal ?? AbortSignal.timeout(timeoutSeconds * 1000),
    });
    const { bytes, error } = await readBody(response.body, maxResponseBytes);
    if (error) throw error;
    const answered = new Headers();
    for (const [name, value] of Object.entries(response.headers)) {
      // The body is decompressed.
      if (value !== undefined && !/^content-(encoding|length)$/.test(name)) answered.set(name, String(value));
    }
    return new Response(new Uint8Array(bytes), { status: response.status, headers: answered });
  }
}
