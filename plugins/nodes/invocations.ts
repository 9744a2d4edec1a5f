/**
 * Pending commands of nodes. Each is settled once: by the response, by its timeout, or when the caller or the node
 * disconnects.
 */
import { type Clock, GatewayError } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import type { NodeAnswer } from "@svc/sdk/nodes";
import type { ConnectedNode } from "./registry.ts";
import { shownLine, shownText } from "./texts.ts";

/** Default timeout in milliseconds. Spec: protocol/methods-node.md §2. */
export const DEFAULT_TIMEOUT_MS = 30_000;
/** Maximum of a timer in milliseconds, 24.8 days. */
const MAX_TIMEOUT_MS = 2_147_483_647;
/** Choice: maximum pending commands of a node; further ones are refused. */
export const MAX_PENDING = 256;
const MAX_CODE_CHARS = 100;
/** Choice: maximum characters of a node's error message for the caller. */
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

/** Params of `node.invoke.result`. */
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
  /** Cancels the timer and removes the abort listener. */
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
   * Choice: with `timeoutMs: 0` the command is sent, but the response is not awaited.
   * @throws GatewayError `UNAVAILABLE`: refusal by the node, timeout, disconnect, or too many pending commands
   */
  invoke({ nodeId, connectionId }: ConnectedNode, invocation: Invocation): Promise<NodeAnswer> {
    const { command, params, timeoutMs = DEFAULT_TIMEOUT_MS, idempotencyKey, signal } = invocation;
    if (signal?.aborted) return Promise.reject(gone(command));
    if ((this.#perConnection.get(connectionId) ?? 0) >= MAX_PENDING) {
      const message = `node ${nodeId} has ${MAX_PENDING} pending commands, the maximum; try again when one has ended`;
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

  /** @returns false: no command with this id is pending on this connection */
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

  /** Rejects the pending commands of a closed connection. Spec: §2, "node disconnects while waiting". */
  disconnected(connectionId: string): void {
    if (!this.#perConnection.has(connectionId)) return;
    for (const [id, pending] of this.#pending) {
      if (pending.connectionId !== connectionId) continue;
      const message = `Error: node disconnected (${pending.command})`;
      this.#take(id)?.reject(new GatewayError("UNAVAILABLE", message));
    }
  }

  /** Rejects all pending commands when the plugin stops. */
  stop(): void {
    for (const id of this.#pending.keys()) {
      this.#take(id)?.reject(new GatewayError("UNAVAILABLE", "the plugin nodes is stopping", { retryAfterMs: 1_000 }));
    }
  }

  /** Number of pending commands. */
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

/** Parses `payloadJSON` if it is a string; any other value is the payload itself. Spec: §2 and §3. */
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
  return new GatewayError("UNAVAILABLE", `the caller of ${command} has disconnected`);
}
