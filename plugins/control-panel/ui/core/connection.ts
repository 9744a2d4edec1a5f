/**
 * The connection to the gateway: signs in with what the link or the browser holds, reconnects, and says what people must do when
 * the gateway refuses. A stored token is only ever sent to the gateway that issued it.
 */
import { type ClientOptions, connect, type GatewayClient } from "@svc/sdk/client";
import { detailsCode, GatewayError, isGatewayError } from "@svc/sdk/errors";
import { type LinkSecrets, OWN_GATEWAY } from "./address.ts";
import { deviceFor, type NoDevice, NoDeviceError } from "./device.ts";
import { forgetToken, keep, type KeptGateway, readKept } from "./kept.ts";

export type EventFrame = Parameters<Parameters<GatewayClient["onEvent"]>[0]>[0];

/** What the connection is doing, or needs from people. */
export type ConnectionState =
  | { readonly kind: "connecting" }
  | { readonly kind: "connected" }
  /** Was connected; calls fail until it is again. */
  | { readonly kind: "reconnecting" }
  /** A link names another gateway; nothing was sent to it. `url`: only scheme, host and port, since the rest of an address can mislead */
  | { readonly kind: "foreign"; readonly url: string }
  /** A token or password is needed. `reason`: the gateway's refusal. */
  | { readonly kind: "sign-in"; readonly reason?: GatewayError }
  /** The browser waits for an approval. */
  | { readonly kind: "pairing"; readonly requestId?: string; readonly deviceId: string }
  /** The page cannot prove its device. */
  | { readonly kind: "no-device"; readonly why: NoDevice }
  /** The gateway does not admit this page, e.g. because of its origin. */
  | { readonly kind: "refused"; readonly reason: GatewayError }
  /** No gateway answers; tried again by itself. */
  | { readonly kind: "unreachable"; readonly reason: GatewayError };

export interface Connection {
  readonly state: ConnectionState;
  /** WebSocket address of the gateway. */
  readonly url: string;
  /** The last accepted client. */
  readonly client: GatewayClient | undefined;
  /** Scopes of this browser. */
  readonly scopes: readonly string[];
  /** Connects with what the link and the browser hold. */
  start(): void;
  /** Connects anew with what a link holds that was opened in this tab. */
  follow(link: LinkSecrets): void;
  /** @param secret token or password */
  signIn(secret: string): void;
  /** Accepts the gateway that the link named; `false`: uses the own gateway. */
  answerForeign(accept: boolean): void;
  /** Forgets the token of this browser and shows the sign-in, in all tabs. */
  signOut(): Promise<void>;
  retry(): void;
  /** Called at each change of the state. */
  onState(listener: (state: ConnectionState) => void): void;
  /** Called with every event of the gateway. @returns a function that stops listening */
  onEvent(listener: (frame: EventFrame) => void): () => void;
  /** Called when events may have been missed: after a sign-in, a reconnect or a gap. @returns a function that stops listening */
  onFresh(listener: () => void): () => void;
}

const PANEL_ID = "svc-control-ui"; // the id that the gateway's rules for panels name
const WANTED = ["operator.admin", "operator.read", "operator.write", "operator.approvals", "operator.pairing"];
/** Caps: receives the events of tool calls. */
const CAPS = ["tool-events"];
const RETRY_MS = { unreachable: 2_000, pairing: 3_000 } as const;

/** @param ended called when this browser was signed out, in this tab or another one */
export function createConnection(first: LinkSecrets, ended: () => void): Connection {
  const onState: ((state: ConnectionState) => void)[] = [];
  const events = new Set<(frame: EventFrame) => void>();
  const freshness = new Set<() => void>();
  let state: ConnectionState = { kind: "connecting" };
  let client: GatewayClient | undefined;
  let url = OWN_GATEWAY;
  let { invite, secret } = first;
  /** Gateway of the link, if it is another one than that of the page. */
  let other: string | undefined;
  let scopes: readonly string[] = [];
  let retry: ReturnType<typeof setTimeout> | undefined;
  let attempt = 0;

  const tell = (frame: EventFrame) => {
    for (const listener of events) listener(frame);
  };
  const refresh = () => {
    for (const listener of freshness) listener();
  };
  const signedOut = new BroadcastChannel("svc-panel.signed-out");
  signedOut.onmessage = ({ data }) => {
    if (data === url) void leave();
  };
  const set = (next: ConnectionState) => {
    state = next;
    for (const listener of onState) listener(next);
  };

  async function open(): Promise<void> {
    const mine = ++attempt;
    clearTimeout(retry);
    if (state.kind !== "pairing" && state.kind !== "unreachable") set({ kind: "connecting" });
    const former = client;
    client = undefined;
    await former?.close();
    try {
      const opened = await admitted(() => mine === attempt);
      if (mine !== attempt) return void opened.close();
      client = opened;
      set({ kind: "connected" });
      refresh();
    } catch (error) {
      if (mine === attempt) await refused(error).catch(refused); // e.g. the storage fails
    }
  }

  /** One attempt with the best credential at hand. @param isCurrent no newer attempt has begun, e.g. with the secrets of another link */
  async function admitted(isCurrent: () => boolean): Promise<GatewayClient> {
    const own = await identity();
    const { kept } = own;
    let given = invite ?? secret;
    let ownToken = kept?.token;
    scopes = given === undefined && kept?.token !== undefined ? (kept.scopes ?? WANTED) : WANTED;
    const options: ClientOptions = {
      url,
      client: { id: PANEL_ID, mode: "webchat", version: VERSION, platform: "web", displayName: browserName() },
      scopes,
      caps: CAPS,
      reconnect: true,
      connectTimeoutMs: 15_000,
      ...(own.device ? { device: own.device } : {}),
      token: () => given,
      deviceToken: () => ownToken,
    };
    const opened = await connect({ ...options, onEvent: tell });
    /** What the gateway granted; a reconnect may bring other rights and another token. */
    const take = async ({ auth }: GatewayClient["hello"]) => {
      if (kept && auth?.deviceToken !== undefined) {
        await keep({ ...kept, token: auth.deviceToken, scopes: auth.scopes });
      }
      if (!isCurrent()) return;
      if (auth) ({ scopes } = auth);
      if (auth?.deviceToken === undefined) return;
      // From now on the token of this device is enough. With the secret, a tab whose device was removed would pair again.
      ownToken = auth.deviceToken;
      given = undefined;
      secret = undefined;
    };
    await take(opened.hello);
    if (!isCurrent()) return opened;
    invite = undefined;
    opened.onClose(({ willReconnect }) => {
      if (client !== opened) return;
      if (willReconnect) set({ kind: "reconnecting" });
      else void open(); // a refusal: a new attempt says which
    });
    opened.onReconnect((hello) => {
      if (client !== opened) return;
      take(hello).catch(() => undefined); // not stored: the former token is tried after a reload
      set({ kind: "connected" });
      refresh();
    });
    opened.onGap(refresh);
    return opened;
  }

  async function identity(): Promise<{ device?: ClientOptions["device"]; kept?: KeptGateway }> {
    try {
      return await deviceFor(url);
    } catch (error) {
      if (error instanceof NoDeviceError && error.why === "insecure-context") return {}; // the gateway may allow it
      throw error;
    }
  }

  async function holdsToken(): Promise<boolean> {
    try {
      return (await readKept(url))?.token !== undefined;
    } catch {
      return false;
    }
  }

  async function refused(error: unknown): Promise<void> {
    if (error instanceof NoDeviceError) return set({ kind: "no-device", why: error.why });
    const reason = isGatewayError(error) ? error : new GatewayError("INTERNAL", String(error));
    const code = detailsCode(reason) ?? "";
    if (code === "CONTROL_UI_DEVICE_IDENTITY_REQUIRED") return set({ kind: "no-device", why: "insecure-context" });
    if (reason.code === "NOT_PAIRED") {
      const { requestId } = Object(reason.details) as { requestId?: string };
      const { kept } = await deviceFor(url);
      retry = setTimeout(() => void open(), RETRY_MS.pairing);
      return set({ kind: "pairing", deviceId: kept.deviceId, ...(requestId === undefined ? {} : { requestId }) });
    }
    if (code === "UNREACHABLE" || reason.code === "UNAVAILABLE") {
      retry = setTimeout(() => void open(), RETRY_MS.unreachable);
      return set({ kind: "unreachable", reason });
    }
    if (code.startsWith("AUTH_")) {
      if (code === "AUTH_DEVICE_TOKEN_MISMATCH") await forgetToken(url);
      const isFirst = code === "AUTH_REQUIRED" || code.endsWith("_MISSING");
      const wasGiven = (invite ?? secret) !== undefined;
      invite = undefined;
      secret = undefined;
      // E.g. an old link of `svc dashboard` in a browser that is known.
      if (wasGiven && (await holdsToken())) return open();
      return set({ kind: "sign-in", ...(isFirst ? {} : { reason }) });
    }
    set({ kind: "refused", reason });
  }

  /** Connects, or asks first if the link names another gateway. */
  function begin(gateway: string | undefined): void {
    const named = gateway === undefined ? OWN_GATEWAY : gatewayOf(gateway);
    url = OWN_GATEWAY;
    if (named === undefined) return stay(); // it is no address
    if (named === OWN_GATEWAY) return void open();
    attempt++;
    clearTimeout(retry);
    const former = client;
    client = undefined; // its news would hide the question
    void former?.close();
    other = named;
    set({ kind: "foreign", url: named });
  }

  /** Uses the own gateway without the secrets of the link, which are meant for the other one. */
  function stay(): void {
    secret = undefined;
    invite = undefined;
    void open();
  }

  async function leave(): Promise<void> {
    attempt++;
    clearTimeout(retry);
    secret = undefined;
    invite = undefined;
    const former = client;
    client = undefined;
    await former?.close();
    set({ kind: "sign-in" });
    ended();
  }

  return {
    get state() {
      return state;
    },
    get url() {
      return url;
    },
    get client() {
      return client;
    },
    get scopes() {
      return scopes;
    },
    start() {
      begin(first.gateway);
    },
    follow(link) {
      ({ invite, secret } = link);
      begin(link.gateway);
    },
    signIn(given) {
      secret = given;
      void open();
    },
    answerForeign(accept) {
      if (!accept || other === undefined) return stay();
      url = other;
      void open();
    },
    async signOut() {
      await forgetToken(url);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches only its own origin
      signedOut.postMessage(url);
      await leave();
    },
    retry: () => void open(),
    onState: (listener) => void onState.push(listener),
    onEvent: (listener) => listening(events, listener),
    onFresh: (listener) => listening(freshness, listener),
  };
}

function listening<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** `wss://host:port` of an address; `undefined`: it is none. */
function gatewayOf(text: string): string | undefined {
  const written = text.replace(/^http(?=s?:\/\/)/i, "ws");
  if (!/^wss?:\/\//i.test(written) || !URL.canParse(written)) return undefined;
  const { protocol, host } = new URL(written);
  return `${protocol}//${host}`;
}

/** E.g. `Firefox on Linux`, so that people recognize the browser in the list of devices. */
function browserName(): string {
  const { userAgent } = navigator;
  const [, browser] = /(Edg|Firefox|OPR|Chrome|Safari)\//.exec(userAgent.replace(/Chrome.*(Edg|OPR)/, "$1")) ?? [];
  const system = /Windows|Android|iPhone|iPad|Mac OS X|CrOS|Linux/.exec(userAgent)?.[0];
  const names: Readonly<Record<string, string>> = { Edg: "Edge", OPR: "Opera", "Mac OS X": "macOS", CrOS: "ChromeOS" };
  const shown = (name: string | undefined, otherwise: string) =>
    name === undefined ? otherwise : (names[name] ?? name);
  return system === undefined ? shown(browser, "Browser") : `${shown(browser, "Browser")} on ${shown(system, "")}`;
}
