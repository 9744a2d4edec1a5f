/** The `Peers` service: facts and calls between gateways on one state, as notes of the backplane. */
import { randomUUID } from "node:crypto";
import { type ErrorShape, GatewayError, type Logger, messageOf, toErrorShape } from "@svc/sdk";
import type { AskOptions, PeerHandler, Peers, SharedFact } from "@svc/sdk/gateway";

/** Milliseconds. */
const ASK_MS = 30_000;
const RETRY_AFTER_MS = 1_000;

const NEVER = new AbortController().signal;

/** Topic of the admitted connections. */
export const CONNECTIONS = "host/connections";

type Facts = Map<string, Map<string, unknown>>;

/** A note to the others. Gateways of other versions may know further keys. */
interface Note {
  readonly from: string;
  /** Only for this gateway. */
  readonly to?: string;
  /** By topic and key; `null`: no longer. */
  readonly facts?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** `facts` are all that it shares. */
  readonly isAll?: true;
  /** It asks the others for theirs. */
  readonly isNew?: true;
  readonly ask?: { readonly id: string; readonly name: string; readonly params: unknown };
  readonly answer?: { readonly id: string; readonly result?: unknown; readonly error?: ErrorShape };
  /** The caller of this id no longer waits. */
  readonly cancel?: string;
  readonly tell?: { readonly name: string; readonly params: unknown };
}

interface Pending {
  readonly gateway: string;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: GatewayError) => void;
}

export interface HostPeersOptions {
  /** Sends a note to all gateways. Does nothing without a backplane. */
  readonly send: (text: string) => void;
  readonly log: Pick<Logger, "warn">;
}

export class HostPeers implements Peers {
  readonly #options: HostPeersOptions;
  readonly #own: Facts = new Map();
  readonly #others = new Map<string, Facts>();
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #handlers = new Map<string, PeerHandler>();
  readonly #pending = new Map<string, Pending>();
  /** Calls of others that are being handled, by id. */
  readonly #handled = new Map<string, AbortController>();
  /** Absent: there is no backplane, or this gateway is nobody to the others now. */
  #self: string | undefined;
  #present: ReadonlySet<string> = new Set();
  #absent: ReadonlySet<string> = new Set();
  #leftAt: number | undefined;

  constructor(options: HostPeersOptions) {
    this.#options = options;
  }

  /** Names of the other gateways that are there. */
  get names(): readonly string[] {
    return this.#self === undefined ? [] : [...this.#present].filter((name) => name !== this.#self);
  }

  /** Monotonic ms at which a gateway has left of which none has taken the place. */
  get leftAt(): number | undefined {
    return this.#leftAt;
  }

  get self(): string | undefined {
    return this.#self;
  }

  share(topic: string, key: string, value: unknown): void {
    const facts = mapIn(this.#own, topic);
    if (value === undefined && !facts.delete(key)) return;
    if (value !== undefined) facts.set(key, value);
    this.#send({ facts: { [topic]: { [key]: value ?? null } } });
  }

  shared(topic: string): readonly SharedFact[] {
    return [...this.#others].flatMap(([gateway, facts]) =>
      [...(facts.get(topic) ?? [])].map(([key, value]) => ({ gateway, key, value })),
    );
  }

  follow(topic: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  answer(name: string, handler: PeerHandler): () => void {
    this.#handlers.set(name, handler);
    return () => {
      if (this.#handlers.get(name) === handler) this.#handlers.delete(name);
    };
  }

  async ask(gateway: string, name: string, params: unknown, { timeoutMs = ASK_MS, signal }: AskOptions = {}) {
    if (signal?.aborted) throw unavailable("the caller no longer waits");
    if (!this.#others.has(gateway)) throw unavailable("the gateway that does this has ended");
    const id = randomUUID();
    let giveUp = (_error: GatewayError) => {};
    const answered = new Promise<unknown>((resolve, reject) => {
      giveUp = reject;
      this.#pending.set(id, { gateway, resolve, reject });
    });
    const cancel = (why: string) => {
      this.#send({ to: gateway, cancel: id });
      giveUp(unavailable(why));
    };
    const timer = setTimeout(() => cancel("another gateway did not answer in time"), timeoutMs).unref();
    const leave = () => cancel("the caller no longer waits");
    signal?.addEventListener("abort", leave, { once: true });
    this.#send({ to: gateway, ask: { id, name, params } });
    try {
      return await answered;
    } finally {
      this.#pending.delete(id);
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
    }
  }

  tell(name: string, params: unknown): void {
    this.#send({ tell: { name, params } });
  }

  /** To be called when notes may have been lost: the others get everything again, and so does this gateway. */
  restart(): void {
    this.#send({ ...this.#everything(), isNew: true });
  }

  /** @param self `undefined`: this gateway is nobody to the others now @param present all gateways on the state */
  members(self: string | undefined, present: ReadonlySet<string>): void {
    const former = this.#self;
    this.#self = self;
    if (self !== undefined && self !== former) this.#send({ ...this.#everything(), isNew: true });
    const absent = [...this.#others.keys()].filter((gateway) => !present.has(gateway));
    // The first note of a gateway may come before it is known to be present.
    for (const gateway of absent) if (this.#present.has(gateway) || this.#absent.has(gateway)) this.#forget(gateway);
    if (present.size < this.#present.size) this.#leftAt = performance.now();
    else if (present.size > this.#present.size) this.#leftAt = undefined;
    this.#present = present;
    this.#absent = new Set(absent);
  }

  /** A note of a gateway, maybe of this one. */
  heard(text: string): void {
    const note = JSON.parse(text) as Note; // written by `#send` of a gateway
    if (note.from === this.#self || (note.to !== undefined && note.to !== this.#self)) return;
    const { from, facts, ask, answer, cancel, tell } = note;
    if (facts) this.#learn(from, facts, note.isAll === true);
    if (note.isNew) this.#send({ to: from, ...this.#everything() });
    if (ask) void this.#handle(from, ask);
    if (answer) this.#answered(answer);
    if (cancel !== undefined) this.#handled.get(cancel)?.abort();
    if (tell && this.#handlers.has(tell.name))
      this.#call(tell.name, tell.params, NEVER).catch((error: unknown) => this.#failed(tell.name, error));
  }

  #everything(): Pick<Note, "facts" | "isAll"> {
    const facts = Object.fromEntries([...this.#own].map(([topic, of]) => [topic, Object.fromEntries(of)]));
    return { facts, isAll: true };
  }

  #send(note: Omit<Note, "from">): void {
    if (this.#self !== undefined) this.#options.send(JSON.stringify({ from: this.#self, ...note }));
  }

  #learn(from: string, given: NonNullable<Note["facts"]>, isAll: boolean): void {
    const known: Facts = this.#others.get(from) ?? new Map();
    this.#others.set(from, known);
    const changed = new Set(Object.keys(given));
    if (isAll) {
      for (const topic of known.keys()) changed.add(topic);
      known.clear();
    }
    for (const [topic, facts] of Object.entries(given))
      for (const [key, value] of Object.entries(facts)) {
        if (value === null) known.get(topic)?.delete(key);
        else mapIn(known, topic).set(key, value);
      }
    this.#changed(changed);
  }

  #forget(gateway: string): void {
    const topics = this.#others.get(gateway)?.keys() ?? [];
    this.#others.delete(gateway);
    for (const pending of this.#pending.values())
      if (pending.gateway === gateway) pending.reject(unavailable("the gateway that does this has ended"));
    this.#changed(topics);
  }

  #changed(topics: Iterable<string>): void {
    for (const topic of topics)
      for (const listener of this.#listeners.get(topic) ?? []) {
        try {
          listener();
        } catch (error) {
          this.#failed(topic, error);
        }
      }
  }

  async #handle(from: string, { id, name, params }: NonNullable<Note["ask"]>): Promise<void> {
    const over = new AbortController();
    this.#handled.set(id, over);
    try {
      const result = await this.#call(name, params, over.signal);
      this.#send({ to: from, answer: { id, result } });
    } catch (error) {
      this.#send({ to: from, answer: { id, error: toErrorShape(error) } });
    } finally {
      this.#handled.delete(id);
    }
  }

  async #call(name: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const handler = this.#handlers.get(name);
    if (!handler) throw unavailable("the plugin that does this does not run there");
    return handler(params, signal);
  }

  #answered({ id, result, error }: NonNullable<Note["answer"]>): void {
    const pending = this.#pending.get(id);
    if (error) pending?.reject(errorOf(error));
    else pending?.resolve(result);
  }

  #failed(name: string, error: unknown): void {
    this.#options.log.warn(
      { about: name, reason: messageOf(error) },
      "a message of another gateway could not be handled",
    );
  }
}

function mapIn(facts: Facts, topic: string): Map<string, unknown> {
  const known = facts.get(topic) ?? new Map<string, unknown>();
  facts.set(topic, known);
  return known;
}

function unavailable(message: string): GatewayError {
  return new GatewayError("UNAVAILABLE", message, { retryAfterMs: RETRY_AFTER_MS });
}

function errorOf({ code, message, details, retryAfterMs }: ErrorShape): GatewayError {
  return new GatewayError(code, message, { details, ...(retryAfterMs !== undefined && { retryAfterMs }) });
}
