/**
 * Commands nodes were asked for and have not answered. Each ends once: with the answer, at its timeout, when the caller
 * or the connection goes.
 */
import { type Clock, GatewayError } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import type { NodeAnswer } from "@svc/sdk/nodes";
import type { ConnectedNode } from "./registry.ts";
import { shownLine, shownText } from "./texts.ts";

/** Milliseconds. Spec: protocol/methods-node.md §2. */
export const DEFAULT_TIMEOUT_MS = 30_000;
/** Most a timer takes, 24.8 days. */
const MAX_TIMEOUT_MS = 2_147_483_647;
/** Choice: commands one node may have under way; one more is refused. */
export const MAX_PENDING = 256;
const MAX_CODE_CHARS = 100;
/** Choice: characters of a node's error that reach the caller. */
const MAX_MESSAGE_CHARS = 8_000;

/** Payload of `node.invoke.request`. */
export interface InvokeRequest {
  readonly id: string;
  readonly nodeId: string;
  readonly command: string;
  readonly paramsJSON: string | null;
  readonly timeoutMs: number;
  readonly idempotencyKey?: string;
}

export interface Invocation {
  readonly command: string;
  readonly params: unknown;
  readonly timeoutMs?: number | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a node sent as `node.invoke.result`. */
export interface InvokeResult {
  readonly id: string;
  readonly ok: boolean;
  readonly payload?: unknown;
  readonly payloadJSON?: unknown;
  readonly error?: { readonly code?: string | undefined; readonly message?: string | undefined } | null;
}

interface Pending {
  readonly connectionId: string;
  readonly command: string;
  readonly resolve: (answer: NodeAnswer) => void;
  readonly reject: (error: GatewayError) => void;
  /** Ends the timer and the watch on the caller. */
  readonly release: () => void;
}

interface InvocationSources {
  readonly clock: Pick<Clock, "setTimeout">;
  /** Sends to one connection; never throws. */
  readonly send: (request: InvokeRequest, connectionId: string) => void;
  readonly newId: () => string;
}

export class Invocations {
  readonly #sources: InvocationSources;
  readonly #pending = new Map<string, Pending>();
  readonly #perConnection = new Map<string, number>();

  constructor(sources: InvocationSources) {
    this.#sources = sources;
  }

  /**
   * Choice: with `timeoutMs: 0` the node is asked all the same, and nobody waits for it.
   * @throws GatewayError `UNAVAILABLE`: what the node refused with, its time is up, it is gone, or too much is under way
   */
  invoke({ nodeId, connectionId }: ConnectedNode, invocation: Invocation): Promise<NodeAnswer> {
    const { command, params, timeoutMs = DEFAULT_TIMEOUT_MS, idempotencyKey, signal } = invocation;
    if (signal?.aborted) return Promise.reject(gone(command));
    if ((this.#perConnection.get(connectionId) ?? 0) >= MAX_PENDING) {
      const message = `node ${nodeId} has ${MAX_PENDING} commands under way, which is the most; try again when one has ended`;
      throw refusal("TOO_MANY_PENDING", message, { nodeId }, { retryAfterMs: 1_000 });
    }
    const id = this.#sources.newId();
    const paramsJSON = params === undefined ? null : JSON.stringify(params);
    const answer = new Promise<NodeAnswer>((resolve, reject) => {
      const late = `no answer to ${command} within ${timeoutMs} ms`;
      const cancel = this.#sources.clock.setTimeout(
        () => this.#take(id)?.reject(nodeError("TIMEOUT", late)),
        Math.min(timeoutMs, MAX_TIMEOUT_MS),
      );
      const leave = () => this.#take(id)?.reject(gone(command));
      signal?.addEventListener("abort", leave, { once: true });
      const release = () => {
        cancel();
        signal?.removeEventListener("abort", leave);
      };
      this.#pending.set(id, { connectionId, command, resolve, reject, release });
      this.#perConnection.set(connectionId, (this.#perConnection.get(connectionId) ?? 0) + 1);
    });
    const request = { id, nodeId, command, paramsJSON, timeoutMs };
    this.#sources.send(idempotencyKey === undefined ? request : { ...request, idempotencyKey }, connectionId);
    return answer;
  }

  /** @returns whether somebody waited for this, and for this connection to say it */
  settle(connectionId: string, result: InvokeResult): boolean {
    if (this.#pending.get(result.id)?.connectionId !== connectionId) return false;
    const pending = this.#take(result.id);
    if (result.ok) pending?.resolve(answerOf(result));
    else {
      const code = shownLine(result.error?.code, MAX_CODE_CHARS) ?? "UNAVAILABLE";
      const message = shownText(result.error?.message ?? "", MAX_MESSAGE_CHARS);
      pending?.reject(nodeError(code, message === "" ? "the node refused without a reason" : message));
    }
    return true;
  }

  /** What its connection was asked for will not be answered. Spec: §2, "node disconnects while waiting". */
  disconnected(connectionId: string): void {
    if (!this.#perConnection.has(connectionId)) return;
    for (const [id, pending] of this.#pending) {
      if (pending.connectionId !== connectionId) continue;
      const message = `Error: node disconnected (${pending.command})`;
      this.#take(id)?.reject(new GatewayError("UNAVAILABLE", message));
    }
  }

  /** Gives up everything, for a stop. */
  stop(): void {
    for (const id of this.#pending.keys()) {
      this.#take(id)?.reject(new GatewayError("UNAVAILABLE", "the plugin nodes is stopping", { retryAfterMs: 1_000 }));
    }
  }

  /** Commands that wait for an answer. */
  get size(): number {
    return this.#pending.size;
  }

  #take(id: string): Pending | undefined {
    const pending = this.#pending.get(id);
    if (!pending) return undefined;
    this.#pending.delete(id);
    const { connectionId } = pending;
    const left = (this.#perConnection.get(connectionId) ?? 1) - 1;
    if (left === 0) this.#perConnection.delete(connectionId);
    else this.#perConnection.set(connectionId, left);
    pending.release();
    return pending;
  }
}

/** `payloadJSON` parsed where it is a text; a value under that name is the payload itself. Spec: §2 and §3. */
export function answerOf({ payload, payloadJSON }: Pick<InvokeResult, "payload" | "payloadJSON">): NodeAnswer {
  if (typeof payloadJSON === "string") return { payload: parsed(payloadJSON), payloadJSON };
  return { payload: payloadJSON ?? payload, payloadJSON: null };
}

function parsed(payloadJSON: string): unknown {
  try {
    return JSON.parse(payloadJSON);
  } catch {
    return { payloadJSON };
  }
}

/** Spec: §2, `details.nodeError`. */
export function nodeError(code: string, message: string): GatewayError {
  return new GatewayError("UNAVAILABLE", `${code}: ${message}`, { details: { nodeError: { code, message } } });
}

function gone(command: string): GatewayError {
  return new GatewayError("UNAVAILABLE", `whoever asked for ${command} is gone`);
}
