/** Recorded clients: what they send, what they store, and when they delete it. Spec: protocol/clients.md. */
import assert from "node:assert/strict";
import { openRaw, type RawFrame, type RawSocket } from "../../raw-socket.ts";
import type { KeptDevice } from "../../plugins/devices/scene.ts";

const ALL = ["admin", "read", "write", "approvals", "pairing"].map((name) => `operator.${name}`);

/** What one kind of client sends. Spec: clients.md "connect as sent by the real clients". */
export interface Kind {
  readonly name: string;
  readonly client: {
    readonly id: string;
    readonly mode: string;
    readonly platform: string;
    readonly [more: string]: string;
  };
  readonly role: "operator" | "node";
  readonly scopes: readonly string[];
  readonly caps: readonly string[];
  readonly more?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signature: "v2" | "v3";
  /** Which credential it sends when it has both. Spec: frames-and-connect.md §7 "Client-side precedence". */
  readonly prefers: "shared" | "stored";
  /** Field in which it sends the stored token. */
  readonly sends: "token" | "both";
  /** Methods it calls right after connecting. */
  readonly calls: readonly string[];
}

const linux = { version: "dev", platform: "linux" };
const PANEL_ID = "3f0d2b1c-0000-4000-8000-000000000001";
const panel = (id: string): Kind => ({
  name: `control UI as ${id}`,
  client: { id, mode: "webchat", version: "dev", platform: "MacIntel", instanceId: PANEL_ID },
  role: "operator",
  scopes: ["operator.admin", "operator.approvals", "operator.pairing"],
  caps: [],
  more: { locale: "en-US", userAgent: "Mozilla/5.0 (Macintosh)" },
  headers: { origin: "http://localhost:5173" },
  signature: "v2",
  prefers: "stored",
  sends: "token",
  calls: ["device.pair.list", "node.list"],
});

const cli = { role: "operator", caps: [], signature: "v3", prefers: "shared", sends: "both" } as const;

const program = { id: "cli", mode: "cli", ...linux };

const RUN = ["system.run.prepare", "system.run", "system.which"];
const NODE_COMMANDS = [...RUN, "system.execApprovals.get", "system.execApprovals.set", "browser.proxy"];

/** Clients that are paired like any other device. */
export const KINDS: readonly Kind[] = [
  {
    ...cli,
    name: "CLI",
    client: { ...program, instanceId: "3f0d2b1c-0000-4000-8000-000000000002" },
    scopes: ALL,
    calls: ["health", "device.pair.list"],
  },
  { ...cli, name: "CLI probe", client: { ...program, mode: "probe" }, scopes: ["operator.read"], calls: ["health"] },
  {
    ...cli,
    name: "TUI",
    client: { id: "gateway-client", mode: "ui", version: "2026.3.2", platform: "linux", displayName: "acme-tui" },
    scopes: ["operator.admin"],
    caps: ["tool-events"],
    calls: ["health", "node.list"],
  },
  panel("svc-control-ui"),
  panel("acme-control-ui"),
  {
    name: "node host",
    client: { id: "node-host", mode: "node", version: "dev", platform: "linux", displayName: "desk" },
    role: "node",
    scopes: [],
    caps: ["system", "browser"],
    more: {
      commands: NODE_COMMANDS,
      pathEnv: "/usr/local/bin:/usr/bin:/bin",
    },
    signature: "v3",
    prefers: "shared",
    sends: "both",
    calls: ["health"],
  },
];

/** A backend in the process, which is not paired. */
export const BACKEND: Kind = {
  ...cli,
  name: "backend",
  client: { id: "gateway-client", mode: "backend", ...linux },
  scopes: ["operator.read"],
  calls: ["health", "node.list"],
};

const KEYS: Readonly<Record<string, readonly string[]>> = {
  event: ["type", "event", "payload", "seq", "stateVersion"],
  res: ["type", "id", "ok", "payload", "error"],
  error: ["code", "message", "details", "retryable", "retryAfterMs"],
};

/** As strict as their validator: no unknown key, and no null for an optional key. Spec: clients.md §0 rules 2 and 3. */
export function assertStrict(frame: RawFrame): void {
  const known = KEYS[frame.type] ?? assert.fail(`a frame of type ${frame.type}`);
  const text = JSON.stringify(frame).slice(0, 300);
  for (const [key, value] of Object.entries(frame)) {
    assert.ok(known.includes(key), `key ${key}: ${text}`);
    if (key !== "payload") assert.notEqual(value, null, `null in ${key}: ${text}`);
  }
  if (frame.seq !== undefined) assert.ok(Number.isInteger(frame.seq) && frame.seq >= 0, text);
  if (frame.stateVersion !== undefined)
    assert.deepEqual(Object.keys(frame.stateVersion as object).sort(), ["health", "presence"], text);
  for (const [key, value] of Object.entries(frame.error ?? {})) {
    assert.ok(KEYS["error"]?.includes(key), `key ${key}: ${text}`);
    assert.notEqual(value, null, text);
  }
}

/** One installation of a client: its key and its stored token. */
export class RecordedClient {
  readonly kind: Kind;
  readonly device: KeptDevice;
  /** The configured credential. */
  shared: string | undefined;
  stored: string | undefined;
  socket: RawSocket | undefined;

  constructor(kind: Kind, device: KeptDevice, shared: string) {
    this.kind = kind;
    this.device = device;
    this.shared = shared;
  }

  #auth(): { token: string; deviceToken?: string } | undefined {
    const { prefers, sends } = this.kind;
    const kept = this.stored !== undefined && (prefers === "stored" || this.shared === undefined);
    if (!kept) return this.shared === undefined ? undefined : { token: this.shared };
    const token = this.stored ?? "";
    return sends === "both" ? { token, deviceToken: token } : { token };
  }

  /** @returns the response to its connect */
  async connect(url: string, headers: Readonly<Record<string, string>> = {}): Promise<RawFrame> {
    const { client, role, scopes, caps, more = {}, signature } = this.kind;
    const socket = await openRaw(url, { ...this.kind.headers, ...headers });
    this.socket = socket;
    const nonce = String(socket.frames[0]?.payload?.["nonce"]);
    const auth = this.#auth();
    const signedAt = Date.now();
    const parts = [
      signature,
      this.device.id,
      client.id,
      client.mode,
      role,
      scopes.join(","),
      signedAt,
      auth?.token ?? "",
      nonce,
    ];
    const text = [...parts, ...(signature === "v3" ? [client.platform.toLowerCase(), ""] : [])].join("|");
    const { id, publicKey } = this.device;
    const device = { id, publicKey, signature: this.device.sign(text), signedAt, nonce };
    const common = { minProtocol: 3, maxProtocol: 3, client, role, scopes, caps, ...(auth ? { auth } : {}) };
    socket.send({ type: "req", id: "connect", method: "connect", params: { ...common, ...more, device } });
    const answer = await socket.next((frame) => frame.id === "connect");
    if (answer.ok === true) this.#keep(answer);
    else await this.closed();
    return answer;
  }

  #keep({ payload }: RawFrame): void {
    const auth = payload?.["auth"] as
      | { deviceToken: string; role: string; scopes: string[]; issuedAtMs?: number }
      | undefined;
    if (!auth) return;
    assert.match(auth.deviceToken, /^[\w-]{43}$/);
    const known = ["deviceToken", "role", "scopes", "issuedAtMs"];
    assert.deepEqual(
      Object.keys(auth).filter((key) => !known.includes(key)),
      [],
    );
    assert.equal(auth.role, this.kind.role);
    this.stored = auth.deviceToken;
  }

  /** Waits for the close, and deletes the stored token when this client would. */
  async closed(): Promise<{ code: number; reason: string }> {
    const end = (await this.socket?.closed) ?? assert.fail("never connected");
    const saysMismatch = end.code === 1008 && end.reason.includes("device token mismatch");
    const wasRefused = this.socket?.frames.some(({ id, ok }) => id === "connect" && ok === false) ?? false;
    const isPanel = this.kind.prefers === "stored";
    if (isPanel ? wasRefused : saysMismatch && this.shared === undefined) this.stored = undefined;
    for (const frame of this.socket?.frames ?? []) assertStrict(frame);
    return end;
  }

  /** Makes its first calls. */
  async work(): Promise<void> {
    const socket = this.socket ?? assert.fail("never connected");
    for (const method of this.kind.calls) {
      socket.send({ type: "req", id: `w-${method}`, method });
      const { ok, error } = await socket.next(({ id }) => id === `w-${method}`);
      assert.equal(ok, true, `${this.kind.name}: ${method}: ${error?.message}`);
    }
    for (const frame of socket.frames) assertStrict(frame);
  }
}
