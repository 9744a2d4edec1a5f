/** One connection of a node at a time: how it is made, what is asked on it, how it is left. Spec: protocol/clients.md §4. */
import { matches, messageOf } from "@svc/sdk";
import { type ClientOptions, type CloseInfo, connect, type DeviceIdentity, type GatewayClient } from "@svc/sdk/client";
import { keepDeviceToken, type KeptToken, readDeviceToken } from "@svc/sdk/device";
import { nodeInvokeRequest } from "@svc/sdk/nodes";
import { type ConnectionEnd, judgeRefusal, WITH_SECRET } from "./connection-end.ts";
import { createAnswering } from "./invocations.ts";
import type { NodeCommands } from "./node-commands.ts";
import type { NodeState } from "./node-states.ts";
import type { NodeTarget } from "./target.ts";
import type { Uplink } from "./uplink.ts";

/** Who the node is, what it can do, and where it says what happens. */
export interface NodeLife {
  readonly target: NodeTarget;
  readonly device: DeviceIdentity;
  /** Where the tokens of the device are kept. */
  readonly identityDirectory: string;
  readonly displayName: string;
  readonly pathEnv: string;
  readonly commands: NodeCommands;
  readonly uplink: Uplink;
  readonly report: (state: NodeState) => void;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Ends programs that run; they still answer. */
  readonly endCommands: () => void;
  readonly random?: () => number;
  readonly now?: () => number;
}

const ROLE = "node";

/** Ids of questions that are remembered. */
const MAX_SEEN = 1_000;

/** A connection, and what is under way on it. */
export class Room {
  readonly #life: NodeLife;
  readonly #answering: ReturnType<typeof createAnswering>;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #seen = new Set<string>();
  #client: GatewayClient | undefined;
  #tokenWasRefused = false;

  constructor(life: NodeLife) {
    this.#life = life;
    this.#answering = createAnswering(life.commands.byName, (text) => life.report({ state: "note", text }));
  }

  /** Connects and stays until the connection ends. @returns `undefined`: it was told to stop; the connection is still there then */
  async stay(): Promise<ConnectionEnd | undefined> {
    const { target, identityDirectory, signal, uplink } = this.#life;
    const kept = readDeviceToken(identityDirectory, target.url, ROLE)?.token;
    if (kept === undefined && target.secret === undefined && this.#tokenWasRefused) return tokenTakenBack();
    const connecting = this.#connect(kept);
    const client = await unlessAborted(connecting, signal).catch((error: unknown) => this.#refused(error, kept));
    if (client === undefined) {
      void connecting.then(
        (late) => late.close(),
        () => undefined,
      );
      return undefined;
    }
    if ("kind" in client) return client;
    this.#client = client;
    const closed = new Promise<CloseInfo>((resolve) => client.onClose(resolve));
    this.#admitted(client, kept);
    const close = await unlessAborted(closed, signal);
    if (close === undefined) return undefined;
    uplink.detach();
    this.#client = undefined;
    return { kind: "lost", why: `the gateway closed: ${close.code}${close.reason ? ` ${close.reason}` : ""}` };
  }

  #admitted(client: GatewayClient, kept: string | undefined): void {
    const { target, device, displayName, report, uplink, now = Date.now } = this.#life;
    const { auth } = client.hello;
    this.#tokenWasRefused = false;
    const { deviceToken: token, scopes = [], role } = auth ?? {};
    if (token !== undefined && role === ROLE && token !== kept) this.#keep({ token, scopes, updatedAtMs: now() });
    report({ state: "connected", url: target.url, nodeId: device.id, displayName });
    uplink.attach(client);
  }

  #refused(error: unknown, kept: string | undefined): ConnectionEnd {
    const end = judgeRefusal(error, kept !== undefined);
    if (end.kind !== "token-refused") return end;
    const { target, report } = this.#life;
    this.#keep(undefined);
    this.#tokenWasRefused = true;
    const next = target.secret === undefined ? "" : ", and the gateway's own secret is tried";
    report({ state: "note", text: `the gateway does not take this device's token any more; it was dropped${next}` });
    return end;
  }

  /** Choice: a node whose disk is full goes on; it needs the gateway's secret again when it comes back. */
  #keep(token: KeptToken | undefined): void {
    const { target, identityDirectory, report } = this.#life;
    try {
      keepDeviceToken(identityDirectory, target.url, ROLE, token);
    } catch (error) {
      const why = messageOf(error);
      report({ state: "note", text: `the token of this device was not written: ${why}` });
    }
  }

  /** Choice: the token of the device goes before the gateway's secret, which then travels only where it has to. */
  #connect(kept: string | undefined): Promise<GatewayClient> {
    const { target, device, displayName, pathEnv, commands } = this.#life;
    const options: ClientOptions = {
      url: target.url,
      ...(target.tlsFingerprint === undefined ? {} : { tlsFingerprint: target.tlsFingerprint }),
      ...(kept === undefined ? target.secret : { deviceToken: () => kept }),
      device,
      role: ROLE,
      scopes: [],
      caps: ["system"],
      commands: commands.declared,
      pathEnv,
      client: { id: "node-host", mode: "node", displayName, platform: process.platform },
      onEvent: (frame) => {
        if (frame.event === nodeInvokeRequest.name) this.#take(connecting, frame.payload);
      },
    };
    const connecting = connect(options);
    return connecting;
  }

  #take(connecting: Promise<GatewayClient>, payload: unknown): void {
    const { device, uplink, report } = this.#life;
    if (!matches(nodeInvokeRequest.payload, payload) || payload.nodeId !== device.id) {
      return report({ state: "note", text: "the gateway asked for something in a form this node does not know" });
    }
    if (!this.#isNew(payload.id)) return;
    const work = this.#answering(payload)
      .then(async (answer) => uplink.answer(await connecting, device.id, answer))
      .catch(() => undefined) // the connection never came about
      .finally(() => this.#inFlight.delete(work));
    this.#inFlight.add(work);
  }

  /** Choice: a question that comes twice is carried out once. */
  #isNew(id: string): boolean {
    if (this.#seen.has(id)) return false;
    this.#seen.add(id);
    const [oldest] = this.#seen;
    if (this.#seen.size > MAX_SEEN && oldest !== undefined) this.#seen.delete(oldest);
    return true;
  }

  /** Ends what runs, lets it answer, and closes. */
  async leave(): Promise<void> {
    this.#life.endCommands();
    await Promise.all(this.#inFlight);
    await this.#life.uplink.flush();
    this.#life.uplink.detach();
    await this.#client?.close();
    this.#client = undefined;
  }
}

function tokenTakenBack(): ConnectionEnd {
  return {
    kind: "refused",
    why: "the gateway has taken the token of this device back",
    next: `${WITH_SECRET}; then type svc devices approve on the gateway if it asks for it`,
  };
}

/** Leaves no listener behind. @returns `undefined` when the signal aborts first */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
