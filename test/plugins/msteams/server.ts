/** Microsoft's services on 127.0.0.1: login, keys, connector and file store; and activities that the service signs. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { until } from "../../until.ts";

export const APP = "11111111-2222-3333-4444-555555555555";
export const PASSWORD = "password-of-the-test";
export const ADA = "aaaaaaaa-0000-4000-8000-00000000000a";
export const DIRECT = "a:1direct-chat";
export const TOWN = "19:town@thread.tacv2";
export const BOT = `28:${APP}`;
/** Words that no error and no log line may contain. */
export const SECRETS = /password-of-the-test|token-of-the-bot|secret-of-the-file/;

export interface Call {
  readonly line: string;
  readonly headers: IncomingMessage["headers"];
  readonly bytes: Buffer;
  readonly body: Readonly<Record<string, unknown>>;
}

/** How the next requests of a kind are answered. `silent`: never; `cut`: the connection ends. */
type Fault =
  | "silent"
  | "cut"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: object };
type Kind = "token" | "keys" | "connector" | "files";

let ids = 0;
let pairs: ReturnType<typeof createPairs> | undefined;

/** Generated once, because it takes long. */
const createPairs = () =>
  Promise.all([generateKeyPair("RS256", { extractable: true }), generateKeyPair("RS256", { extractable: true })]);

/** Fields of a message of Ada in her direct chat. */
export const said = (text: string, more: object = {}) => ({
  type: "message",
  id: String(1_700_000_000_000 + ++ids),
  timestamp: "2026-01-02T03:04:05.678Z",
  text,
  ...more,
});

export async function startServer(t: { after(cleanUp: () => unknown): void }) {
  const [first, second] = await (pairs ??= createPairs());
  const keys = [
    { ...first, kid: "k1", endorsements: ["msteams", "webchat"] },
    { ...second, kid: "k3", endorsements: ["webchat"] },
  ];
  const calls: Call[] = [];
  const faults: Record<Kind, Fault[]> = { token: [], keys: [], connector: [], files: [] };
  const state = {
    isDeaf: false,
    tokens: 0,
    keys,
    seconds: 3_600,
  };
  let gateway = "";
  let sent = 0;

  const http = createServer((incoming, response) => void answer(incoming, response));
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const serviceUrl = `${url}/amer/`;
  t.after(async () => {
    gateway = "";
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });

  const routes: readonly (readonly [Kind, RegExp, (call: Call) => unknown])[] = [
    ["token", /^POST \/[^/]+\/oauth2\/v2\.0\/token$/, granted],
    ["keys", /^GET \/openid$/, () => ({ issuer: "https://api.botframework.com", jwks_uri: `${url}/keys` })],
    [
      "keys",
      /^GET \/keys$/,
      async () => ({
        keys: await Promise.all(
          state.keys.map(async ({ publicKey, kid, endorsements }) => ({
            ...(await exportJWK(publicKey)),
            kid,
            endorsements,
          })),
        ),
      }),
    ],
    ["files", /^(?:GET|PUT) \/files\//, () => ({})],
    ["connector", /^(?:POST|PUT) \/amer\/v3\/conversations\/[^/]+\/activities/, () => ({ id: `sent-${++sent}` })],
  ];

  function granted({ body }: Call) {
    const { client_id: id, client_secret: secret, grant_type: type, scope } = body;
    if (type !== "client_credentials" || scope !== "https://api.botframework.com/.default") return { status: 400 };
    if (id !== APP || secret !== PASSWORD)
      return {
        status: 401,
        body: { error: "invalid_client", error_description: `AADSTS7000215: Invalid client secret ${String(secret)}.` },
      };
    return { access_token: `token-of-the-bot-${++state.tokens}`, expires_in: state.seconds, token_type: "Bearer" };
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const call = { line: `${incoming.method} ${incoming.url}`, headers: incoming.headers, bytes, body: bodyOf(bytes) };
    if (state.isDeaf) return;
    calls.push(call);
    const [kind, , reply] = routes.find(([, pattern]) => pattern.test(call.line)) ?? [];
    const fault = kind && faults[kind].shift();
    if (fault === "silent") return;
    if (fault === "cut") return void incoming.socket.destroy();
    const isFile = kind === "files" && incoming.method === "GET" && !fault;
    if (isFile) {
      const size = Number(/size=(\d+)/.exec(call.line)?.[1] ?? 3);
      response.writeHead(200, { "content-type": "image/png", "content-length": size });
      response.end(size > 1_000 ? undefined : "png".slice(0, size));
      return;
    }
    const data = fault ?? (reply ? await reply(call) : { status: 404 });
    const { status = 200, headers = {}, body = data } = data as { status?: number; headers?: object; body?: unknown };
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  }

  /** Signs a token as the service does. @param claims replace the usual ones */
  async function sign({ claims = {}, kid = "k1" }: { claims?: object; kid?: string } = {}) {
    const key = state.keys.find((one) => one.kid === kid) ?? { ...second, kid };
    const now = Math.floor(Date.now() / 1_000);
    const usual = { iss: "https://api.botframework.com", aud: APP, iat: now, nbf: now, exp: now + 3_600 };
    return new SignJWT({ ...usual, serviceurl: serviceUrl, ...claims })
      .setProtectedHeader({ alg: "RS256", kid, typ: "JWT" })
      .sign(key.privateKey);
  }

  /** An activity of Ada, in her direct chat unless it names another conversation. */
  const activity = (fields: object) => ({
    channelId: "msteams",
    serviceUrl,
    from: { id: "29:ada-in-teams", name: "Ada", aadObjectId: ADA },
    recipient: { id: BOT, name: "Helper" },
    conversation: { id: DIRECT, conversationType: "personal", tenantId: "t" },
    locale: null,
    ...fields,
  });

  async function post(body: unknown, token?: string, account = "default"): Promise<{ status: number; data: unknown }> {
    const authorization = `Bearer ${token ?? (await sign())}`;
    // Without a connection that stays open, which the contract would take for one of the plugin.
    const outgoing = request(`${gateway}/plugins/msteams/${account}/messages`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      agent: false,
    });
    outgoing.end(typeof body === "string" ? body : JSON.stringify(body));
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode ?? 0, data: bodyOf(Buffer.concat(chunks)) };
  }

  const of = (line: RegExp) => calls.filter((call) => line.test(call.line));
  return {
    url,
    serviceUrl,
    settings: {
      loginUrl: url,
      openIdUrl: `${url}/openid`,
      serviceUrls: [serviceUrl],
      fileUrls: [`${url}/files`],
      pingMs: 300,
    },
    login: { appId: APP, appPassword: PASSWORD },
    calls,
    faults,
    state,
    second,
    sign,
    activity,
    post,
    meets: (address: string) => void (gateway = address),
    of,
    /** Activities that the bot has sent or changed. */
    activities: () => of(/activities/).map(({ body }) => body),
    heard: () =>
      of(/activities/).flatMap(({ body }) =>
        body["type"] === "message" && typeof body["text"] === "string" ? [body["text"]] : [],
      ),
    /** Delivers an activity, again until the gateway accepts it or the test is over. */
    async delivers(fields: object): Promise<void> {
      const isAccepted = async () => {
        const { status } = await post(activity(fields)).catch(() => ({ status: 0 }));
        if (status >= 400 && status < 500) throw new Error(`the webhook answers ${status}`);
        return status === 200 || !http.listening;
      };
      await until(isAccepted, "the acceptance of an activity");
    },
  };
}

export type Server = Awaited<ReturnType<typeof startServer>>;

function bodyOf(bytes: Buffer): Record<string, unknown> {
  const text = bytes.toString("utf8");
  if (/^\w+=/.test(text)) return Object.fromEntries(new URLSearchParams(text));
  try {
    return JSON.parse(text) as Record<string, unknown>; // objects only, in these tests
  } catch {
    return {};
  }
}
