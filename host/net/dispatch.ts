/**
 * One method call, from its name to its answer, whatever transport it came by.
 *
 * method -> role -> scope -> ready -> rpcParams -> validate -> rpcBefore -> handler -> rpcResult -> rpcAfter.
 * Hooks nobody tapped are not called, and nothing is awaited where the handler is synchronous.
 */
import { randomBytes } from "node:crypto";
import {
  type Call,
  type ConnectionInfo,
  coversScope,
  describeViolations,
  GatewayError,
  HOOKS,
  isGatewayError,
  type Logger,
  matches,
  type Method,
  type Principal,
} from "@svc/sdk";
import type { PluginReport } from "@svc/sdk/services";
import { denialText, type HookBus } from "../hooks/hook-bus.ts";
import type { MethodEntry } from "../kernel/declarations.ts";
import type { Registry } from "../kernel/registry.ts";

/** A call on its way in. */
export interface IncomingCall {
  readonly method: string;
  readonly params: unknown;
  readonly principal: Principal;
  readonly connection: ConnectionInfo | undefined;
  readonly signal: AbortSignal;
  accept(payload: unknown): void;
}

export interface DispatcherOptions {
  readonly registry: Registry;
  readonly hooks: HookBus;
  readonly log: Logger;
  /** Plugin that would serve a method, and why it does not. */
  absentProvider(method: string): PluginReport | undefined;
  /** Compare results with their schemas: tests and development. A mismatch is a bug and becomes INTERNAL. */
  readonly checkResults: boolean;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #params;
  readonly #before;
  readonly #result;
  readonly #after;
  #inFlight = 0;
  #closed: GatewayError | undefined;
  #idle: (() => void) | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#params = options.hooks.emitter(HOOKS.rpcParams);
    this.#before = options.hooks.emitter(HOOKS.rpcBefore);
    this.#result = options.hooks.emitter(HOOKS.rpcResult);
    this.#after = options.hooks.emitter(HOOKS.rpcAfter);
  }

  /** Refuses every further call with `refusal`. */
  close(refusal: GatewayError): void {
    this.#closed = refusal;
  }

  /** Resolves when no call is in flight. Meant for after `close`. */
  idle(): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#idle = resolve));
  }

  /**
   * @returns the result, or a promise of it when something on the way is asynchronous.
   * @throws GatewayError any refusal; an unexpected error comes out as INTERNAL with its correlation id
   */
  call(call: IncomingCall): unknown {
    const begun = performance.now();
    this.#inFlight++;
    let answer: unknown;
    try {
      answer = this.#run(call);
    } catch (error) {
      throw this.#finish(call, begun, error);
    }
    if (!(answer instanceof Promise)) {
      this.#finish(call, begun);
      return answer;
    }
    return answer.then(
      (result: unknown) => {
        this.#finish(call, begun);
        return result;
      },
      (error: unknown) => {
        throw this.#finish(call, begun, error);
      },
    );
  }

  #run(call: IncomingCall): unknown {
    if (this.#closed) throw this.#closed;
    const { method: name, principal } = call;
    const entry = this.#options.registry.methods.get(name);
    if (!entry) throw this.#unknownMethod(name);
    authorize(entry.method, principal);
    if (!entry.owner.ready)
      throw new GatewayError("UNAVAILABLE", `plugin ${entry.owner.id} is still starting`, { retryAfterMs: 500 });
    const params = call.params ?? {};
    const hooked = this.#params.isUsed(name) || this.#before.isUsed(name) || this.#result.isUsed(name);
    return hooked ? this.#throughHooks(entry, call, params) : this.#handle(entry, call, valid(entry.method, params));
  }

  async #throughHooks(entry: MethodEntry, call: IncomingCall, given: unknown): Promise<unknown> {
    const { method: name, principal, connection } = call;
    const changed = await this.#params.emit({ params: given, principal }, name);
    const params = valid(entry.method, changed.params);
    const denial = await this.#before.emit({ method: name, params, principal, connectionId: connection?.id }, name);
    if (denial) {
      const { retryAfterMs } = denial;
      throw new GatewayError("UNAVAILABLE", denialText(denial), retryAfterMs === undefined ? {} : { retryAfterMs });
    }
    const result = await this.#handle(entry, call, params);
    return (await this.#result.emit({ result, principal }, name)).result;
  }

  #handle({ method, handler, owner }: MethodEntry, call: IncomingCall, params: unknown): unknown {
    const { principal, connection, signal, accept } = call;
    const handlerCall: Call<never> = { params: params as never, principal, connection, signal, accept }; // validated just before
    let result: unknown;
    try {
      result = owner.run(() => handler(handlerCall));
    } catch (error) {
      throw this.#charged(owner, method, error);
    }
    if (!(result instanceof Promise)) return this.#checked(method, result);
    return result.then(
      (value: unknown) => this.#checked(method, value),
      (error: unknown) => {
        throw this.#charged(owner, method, error);
      },
    );
  }

  #charged(owner: MethodEntry["owner"], { name }: Method, error: unknown): unknown {
    if (!isGatewayError(error)) owner.charge(error, `method ${name}`);
    return error;
  }

  #checked({ name, result: schema }: Method, result: unknown): unknown {
    if (!this.#options.checkResults || matches(schema, result)) return result;
    throw new Error(`result of ${name}: ${describeViolations(schema, result)}`);
  }

  #unknownMethod(name: string): GatewayError {
    const absent = this.#options.absentProvider(name);
    const hint = absent
      ? `: provided by plugin ${absent.id}, which is not enabled (${absent.state}${absent.reason ? `: ${absent.reason}` : ""})`
      : "";
    return new GatewayError("INVALID_REQUEST", `unknown method: ${name}${hint}`, {
      details: { code: "UNKNOWN_METHOD" },
    });
  }

  /** Counts the call out and tells observers. @returns the error as clients may see it */
  #finish({ method, principal }: IncomingCall, begun: number, error?: unknown): unknown {
    if (--this.#inFlight === 0) this.#idle?.();
    const seen = error === undefined ? undefined : this.#presentable(method, error);
    if (this.#after.isUsed()) {
      const durationMs = performance.now() - begun;
      void this.#after.emit({ method, principal, durationMs, ok: !seen, ...(seen ? { code: seen.code } : {}) });
    }
    return seen;
  }

  #presentable(method: string, error: unknown): GatewayError {
    if (isGatewayError(error)) return error;
    const correlationId = randomBytes(6).toString("hex");
    this.#options.log.error({ err: error, method, correlationId }, `${method} failed unexpectedly`);
    return new GatewayError("INTERNAL", `internal error (${correlationId})`, {
      details: { correlationId },
    });
  }
}

/** Role, then scope: the one authorisation point. Spec: protocol/authorization.md §1. @throws GatewayError `INVALID_REQUEST` */
export function authorize({ role = "operator", scope }: Method, principal: Principal): void {
  if (role !== "any" && role !== principal.role) {
    throw new GatewayError("INVALID_REQUEST", `unauthorized role: ${principal.role}`, {
      details: { code: "UNAUTHORIZED_ROLE" },
    });
  }
  if (role === "node" || scope === "none" || coversScope(principal.scopes, scope)) return;
  throw new GatewayError("INVALID_REQUEST", `missing scope: ${scope}`, { details: { code: "MISSING_SCOPE", scope } });
}

function valid({ name, params: schema }: Method, params: unknown): unknown {
  if (matches(schema, params)) return params;
  throw new GatewayError("INVALID_REQUEST", `invalid ${name} params: ${describeViolations(schema, params)}`);
}
