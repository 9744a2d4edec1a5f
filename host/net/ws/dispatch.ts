/**
 * Dispatches method calls, independent of the transport.
 *
 * credential -> method -> role -> scope -> limit -> ready -> rpcParams -> validate -> rpcBefore -> handler -> rpcResult
 * -> rpcAfter. Hooks without taps are not called, and nothing is awaited when the handler is synchronous.
 */
import { randomBytes } from "node:crypto";
import {
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
import { nearestName, refusal } from "@svc/sdk/errors";
import { type HookBus, refusalOf } from "../../hooks/hook-bus.ts";
import type { Hold, Owner } from "../../hooks/owner.ts";
import type { AbsentPlugin } from "../../kernel/kernel.ts";
import type { LiveMethod } from "../../kernel/kinds/methods.ts";
import type { Table } from "../../kernel/table.ts";
import { type CallLimiter, limitKey, limitRefusal } from "./call-limiter.ts";
import { HandlerCall, type IncomingCall } from "./handler-call.ts";
import { withoutUnknown } from "./unknown-keys.ts";

/** A call, its start (monotonic ms), and the owner of its method once known. */
interface RunningCall {
  readonly call: IncomingCall;
  readonly begun: number;
  /** Start of the plugin's own time: after the wait for a plugin being replaced, if any. monotonic ms */
  since: number;
  owner: Owner | undefined;
}

export interface DispatcherOptions {
  readonly methods: Table<LiveMethod>;
  readonly hooks: HookBus;
  readonly log: Logger;
  /** The plugin that would serve a method, and why it does not. */
  absentProvider(method: string): AbsentPlugin | undefined;
  /** The pause that a call of an unserved method waits for while its plugin is being replaced. */
  holdFor(method: string): Hold | undefined;
  /** Whether the credential behind a principal is still valid. */
  isLive(principal: Principal): boolean;
  readonly limiter: CallLimiter;
  /** Compares results with their schemas, for tests and development. A mismatch is a bug and becomes INTERNAL. */
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

  /** Resolves when no call is in flight. Call it after `close`. */
  idle(): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#idle = resolve));
  }

  /**
   * @returns the result, or a promise of it when a step is asynchronous.
   * @throws GatewayError any refusal; an unexpected error becomes INTERNAL with its correlation id
   */
  call(call: IncomingCall): unknown {
    const begun = performance.now();
    const running: RunningCall = { call, begun, since: begun, owner: undefined };
    this.#inFlight++;
    let answer: unknown;
    try {
      answer = this.#run(running);
    } catch (error) {
      throw this.#finish(running, error);
    }
    if (!(answer instanceof Promise)) {
      this.#finish(running);
      return answer;
    }
    return answer.then(
      (result: unknown) => {
        this.#finish(running);
        return result;
      },
      (error: unknown) => {
        throw this.#finish(running, error);
      },
    );
  }

  /** The error for a result that no transport can carry; attributed to the plugin that returned it. */
  unsendable(method: string, error: unknown): GatewayError {
    this.#options.methods.get(method)?.owner.charge(error, `result of ${method}`, "caller");
    return this.#presentable(method, error);
  }

  #run(running: RunningCall, limited = false): unknown {
    if (this.#closed) throw this.#closed;
    const { call } = running;
    const { method: name, principal } = call;
    if (!this.#options.isLive(principal)) throw deadCredential();
    const entry = this.#options.methods.get(name);
    const hold = entry ? entry.owner.hold : this.#options.holdFor(name);
    if (!entry && !hold) throw this.#unknownMethod(call);
    if (entry) {
      const denied = authorizationRefusal(entry.method, principal);
      if (denied) throw denied;
      if (!limited) this.#limit(entry.method, call);
    }
    if (hold && !hold.passes() && !endsWaiting(entry))
      return hold.wait().then(() => {
        running.since = performance.now();
        return this.#run(running, entry !== undefined); // another entry may serve the method by then
      });
    if (!entry) throw this.#unknownMethod(call);
    if (!entry.owner.ready)
      throw new GatewayError("UNAVAILABLE", `plugin ${entry.owner.id} is still starting`, { retryAfterMs: 500 });
    running.owner = entry.owner;
    entry.owner.enter();
    const params = call.params ?? {};
    const hooked = this.#params.isUsed(name) || this.#before.isUsed(name) || this.#result.isUsed(name);
    if (hooked) return this.#throughHooks(entry, call, params);
    return this.#handle(entry, call, valid(entry.method, params, call), running.since);
  }

  /** Spec: protocol/authorization.md §4. @throws GatewayError `UNAVAILABLE` */
  #limit({ name, limit }: Method, { connection }: IncomingCall): void {
    if (!limit || !connection) return; // internal calls have no limit
    const { device, remoteAddress, local, id } = connection;
    const key = limitKey({ deviceId: device, clientAddress: remoteAddress, local, connectionId: id });
    const over = this.#options.limiter.take(limit, key);
    if (over) throw limitRefusal(name, limit, over.retryAfterMs);
  }

  async #throughHooks(entry: LiveMethod, call: IncomingCall, given: unknown): Promise<unknown> {
    const { method: name, principal, connection } = call;
    const changed = await this.#params.emit({ params: given, principal }, name);
    const params = valid(entry.method, changed.params, call);
    const rpc = { method: name, params, principal, connectionId: connection?.id };
    const denial = await this.#before.emit(rpc, name, call.signal);
    if (denial) throw refusalOf(denial);
    if (!this.#options.isLive(principal)) throw deadCredential(); // revoked while the hooks ran
    const result = await this.#handle(entry, call, params, performance.now());
    return (await this.#result.emit({ result, principal }, name)).result;
  }

  /** @param since when the call reached its plugin. monotonic ms */
  #handle(entry: LiveMethod, call: IncomingCall, params: unknown, since: number): unknown {
    const { handler, owner } = entry;
    const handlerCall = new HandlerCall(call, params, owner.signal);
    let result: unknown;
    try {
      result = owner.run(() => handler(handlerCall));
    } catch (error) {
      throw this.#failed(entry, handlerCall, since, error);
    }
    if (!(result instanceof Promise)) return this.#answered(entry, handlerCall, since, result);
    return result.then(
      (value: unknown) => this.#answered(entry, handlerCall, since, value),
      (error: unknown) => {
        throw this.#failed(entry, handlerCall, since, error);
      },
    );
  }

  #answered({ method, tally }: LiveMethod, call: HandlerCall, since: number, result: unknown): unknown {
    call.ended();
    tally.answered(performance.now() - since, "ok");
    return this.#checked(method, result);
  }

  #failed({ method, owner, tally }: LiveMethod, call: HandlerCall, since: number, error: unknown): unknown {
    call.ended();
    const left = call.isLeft(error);
    const refused = left || isGatewayError(error);
    tally.answered(performance.now() - since, refused ? "refused" : "failed");
    if (!refused) owner.charge(error, `method ${method.name}`, "caller");
    return left ? new GatewayError("UNAVAILABLE", "the caller disconnected") : error;
  }

  #checked({ name, result: schema }: Method, result: unknown): unknown {
    if (!this.#options.checkResults || matches(schema, result)) return result;
    throw new Error(`result of ${name}: ${describeViolations(schema, result)}`);
  }

  #unknownMethod({ method: name, principal }: IncomingCall): GatewayError {
    const absent = this.#options.absentProvider(name);
    if (absent?.retryAfterMs !== undefined) {
      const { id, state, retryAfterMs } = absent;
      return new GatewayError("UNAVAILABLE", `${name} is unavailable: plugin ${id} is ${state}`, { retryAfterMs });
    }
    if (absent) {
      const { id, state, reason } = absent;
      const why = `provided by plugin ${id}, which is not enabled (${state}${reason ? `: ${reason}` : ""})`;
      return refusal("UNKNOWN_METHOD", `unknown method: ${name}: ${why}`, { plugin: id });
    }
    const didYouMean = nearestName(name, this.#offeredTo(principal));
    if (didYouMean === undefined) return refusal("UNKNOWN_METHOD", `unknown method: ${name}`);
    return refusal("UNKNOWN_METHOD", `unknown method: ${name}; did you mean ${didYouMean}?`, { didYouMean });
  }

  /** Advertised methods that the principal may call: only these are suggested. */
  #offeredTo(principal: Principal): string[] {
    const offered = this.#options.methods
      .list()
      .filter(({ method }) => method.advertised !== false && !authorizationRefusal(method, principal));
    return offered.map(({ method }) => method.name);
  }

  /** Ends the call and notifies observers. @returns the error as clients may see it */
  #finish({ call: { method, principal }, begun, owner }: RunningCall, error?: unknown): unknown {
    owner?.leave();
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

/** Whether the call reaches the old version of a plugin during a reload: pending calls of that version wait for the answer that this call delivers. */
function endsWaiting(entry: LiveMethod | undefined): boolean {
  return entry?.method.answers === true && entry.owner.ready;
}

/** Checks role, then scope: the only authorization point. `undefined`: the call is allowed. Spec: protocol/authorization.md §1 */
function authorizationRefusal({ role = "operator", scope }: Method, principal: Principal): GatewayError | undefined {
  if (role !== "any" && role !== principal.role)
    return refusal("UNAUTHORIZED_ROLE", `unauthorized role: ${principal.role}`);
  if (role === "node" || scope === "none" || coversScope(principal.scopes, scope)) return undefined;
  return refusal("MISSING_SCOPE", `missing scope: ${scope}`, { scope });
}

/** Error of a call whose credential was revoked or replaced; its connection is closed as well. */
function deadCredential(): GatewayError {
  return refusal("AUTH_UNAUTHORIZED", "unauthorized: this credential was revoked or replaced; connect again");
}

function valid(method: Method, given: unknown, { ignoresUnknown = false }: IncomingCall): unknown {
  const { name, params: schema } = method;
  if (matches(schema, given)) return given;
  const params = ignoresUnknown && onlyReads(method) ? withoutUnknown(schema, given) : given;
  if (params !== given && matches(schema, params)) return params;
  throw new GatewayError("INVALID_REQUEST", `invalid ${name} params: ${describeViolations(schema, params)}`);
}

function onlyReads({ role = "operator", scope }: Method): boolean {
  return role === "operator" && (scope === "none" || scope === "operator.read");
}
