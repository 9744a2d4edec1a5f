/**
 * Webhook requests on the gateway's port, directly from Node's server: the checks in the order of http/webhooks.md §2, then
 * the mapping engine, then the record, then 200. The body limit bounds what is read from an unknown sender.
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { GatewayError, isGatewayError, type Logger } from "@svc/sdk";
import { canonicalHeaders } from "../auth/aliases.ts";
import { guesserOf, type ProxyPolicy, resolvePeer } from "../auth/client-address.ts";
import { Deadlines } from "../hooks/deadline.ts";
import type { EarlyReply } from "../net/http/early-reply.ts";
import { createBodyReader, type ReadBody } from "../net/http/body.ts";
import { canonicalPath } from "../net/http/path.ts";
import type { Catalogue } from "./catalogue.ts";
import { type HookAttempts, isToken, tokenOf } from "./credential.ts";
import type { WebhookEngine } from "./engine.ts";
import { BEARER } from "./mapping.ts";
import { Absent, Held, MappingFailed } from "./pipeline.ts";
import type { Recording } from "./recording.ts";
import { type IncomingWebhook, joinedHeaders, parsePayload, queryOf } from "./request.ts";
import { type HttpAnswer, refusalAnswer, send, TEXT_ANSWERS } from "./reply.ts";
import type { Verdicts } from "./verdicts.ts";

export interface IngressOptions {
  readonly engine: Pick<WebhookEngine, "catalogue" | "verdicts" | "accept">;
  readonly recording: Pick<Recording, "run">;
  readonly attempts: HookAttempts;
  /** The hook by which plugins answer before any check; `undefined` while no plugin taps it. */
  early(): EarlyReply | undefined;
  readonly log: Logger;
  aliases(): readonly string[];
  /** Proxies that are trusted to name the address of a sender. */
  proxies(): ProxyPolicy;
  /** Milliseconds within which a body must arrive. Default 30000. Spec: http/webhooks.md §2. */
  readonly bodyTimeoutMs?: number;
}

const BODY_TIMEOUT_MS = 30_000;

/** Input of the checks. */
interface Visit {
  readonly request: IncomingMessage;
  readonly catalogue: Catalogue;
  /** Below the base path, without the leading slash. */
  readonly literalPath: string;
  readonly address: string | undefined;
  readonly trusted: boolean;
}

export class Ingress {
  readonly #options: IngressOptions;
  #readBody: Promise<ReadBody> | undefined;

  constructor(options: IngressOptions) {
    this.#options = options;
  }

  /** @returns whether the request was for a webhook and is answered here */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const { settings } = this.#options.engine.catalogue();
    if (!settings.enabled) return false;
    const path = canonicalPath(request.url ?? "");
    if (path === undefined || (path !== settings.path && !path.startsWith(`${settings.path}/`))) return false;
    this.#answer(request, path)
      .catch((error: unknown) => this.#unexpected(error))
      .then((answer) => send(request, response, answer))
      .catch((error: unknown) => send(request, response, this.#unexpected(error))); // a plugin's response cannot be sent
    return true;
  }

  async #answer(request: IncomingMessage, path: string): Promise<HttpAnswer> {
    const { engine, aliases } = this.#options;
    const early = await this.#options.early()?.(request, path);
    if (early) return early;
    const catalogue = engine.catalogue();
    const { settings } = catalogue;
    // Even an invalid token: it would appear in logs. Spec: §5.2 rule 3.
    if (queryOf(request.url ?? "").has("token")) return TEXT_ANSWERS.queryToken;
    const { clientAddress, remoteAddress } = resolvePeer(
      request.socket.remoteAddress,
      request.headers,
      this.#options.proxies(),
    );
    // Choice: senders behind a trusted proxy are counted separately; otherwise one of them could lock out all others.
    const address = guesserOf(clientAddress ?? remoteAddress);
    const lockedMs = this.#options.attempts.lockedMs(address);
    if (lockedMs !== undefined) return tooMany(lockedMs);
    const trusted = isToken(tokenOf(request.headers, aliases()), settings.token);
    const literalPath = path.slice(settings.path.length).replace(/^\/+/, "");
    const visit: Visit = { request, catalogue, literalPath, address, trusted };
    if (trusted) this.#options.attempts.succeeded(address);
    else if (!maySign(catalogue, trimmed(literalPath))) return this.#refused(address);
    const runId = trusted && request.method === "GET" ? /^runs\/([^/]+)$/.exec(literalPath)?.[1] : undefined;
    if (runId !== undefined) return this.#status(runId);
    if (request.method !== "POST") return trusted ? TEXT_ANSWERS.method : this.#refused(address);
    if (literalPath === "") return trusted ? TEXT_ANSWERS.notFound : this.#refused(address);
    try {
      return await this.#posted(visit);
    } catch (error) {
      return this.#failed(error);
    }
  }

  async #posted({ request, catalogue, literalPath, address, trusted }: Visit): Promise<HttpAnswer> {
    const { engine, attempts, bodyTimeoutMs = BODY_TIMEOUT_MS } = this.#options;
    this.#readBody ??= createBodyReader(new Deadlines(), bodyTimeoutMs);
    const rawBody = await (await this.#readBody)(request, catalogue.settings.maxBodyBytes);
    const now = engine.catalogue();
    if (now.settings !== catalogue.settings && !this.#isStillGood(request, now, trusted)) return this.#refused(address);
    const incoming: IncomingWebhook = {
      path: trimmed(literalPath),
      literalPath,
      headers: joinedHeaders(canonicalHeaders(request.headers, this.#options.aliases())),
      query: queryOf(request.url ?? ""),
      target: request.url ?? "/",
      rawBody,
      trusted,
    };
    const lockedMs = trusted ? undefined : attempts.lockedMs(address); // by guesses during the wait for the body
    if (lockedMs !== undefined) return tooMany(lockedMs);
    const verdicts = engine.verdicts(incoming, now);
    if (!trusted && !verdicts.any) return this.#refused(address, verdicts);
    const payload = parsePayload(rawBody);
    const result = await this.#accepted(incoming, payload, verdicts);
    if (result === "unauthorized") return this.#refused(address, verdicts);
    if (!trusted) attempts.succeeded(address);
    if (result === undefined) return TEXT_ANSWERS.notFound;
    if (result === "skipped") return { status: 204 };
    const { runId, reply, repeated } = result;
    const headers = repeated ? { "Idempotent-Replayed": "true" } : {};
    return { status: 200, headers, body: { ok: true, runId, ...reply } };
  }

  /** The configuration changed while the body arrived: the credential must be valid under the new one. */
  #isStillGood(request: IncomingMessage, { settings }: Catalogue, trusted: boolean): boolean {
    return settings.enabled && (!trusted || isToken(tokenOf(request.headers, this.#options.aliases()), settings.token));
  }

  /** Retries after the replacement of a plugin that the request needs. */
  async #accepted(incoming: IncomingWebhook, payload: object, verdicts: Verdicts): ReturnType<WebhookEngine["accept"]> {
    const { engine } = this.#options;
    for (;;) {
      try {
        return await engine.accept(incoming, payload, verdicts, engine.catalogue());
      } catch (error) {
        if (!(error instanceof Held)) throw error;
        await error.hold.wait();
      }
    }
  }

  async #status(runId: string): Promise<HttpAnswer> {
    try {
      const run = await this.#options.recording.run(runId);
      if (!run) return { status: 404, body: { ok: false, error: `no run ${runId.slice(0, 64)}` } };
      const { status, attempts, acceptedAt, startedAt, endedAt, nextAttemptAt, reason } = run;
      const shown = { runId, status, attempts, acceptedAt, startedAt, endedAt, nextAttemptAt, reason };
      return { status: 200, body: { ok: true, ...shown } };
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** @param verdicts outcome of the signatures, for the log; logged while the address is not locked */
  #refused(address: string | undefined, verdicts?: Verdicts): HttpAnswer {
    const { attempts, log } = this.#options;
    const retryAfterMs = attempts.failed(address);
    if (retryAfterMs === undefined) {
      if (verdicts)
        log.info({ address, refusals: verdicts.refusals }, "refused a webhook: no mapping accepts it from this sender");
      return TEXT_ANSWERS.unauthorized;
    }
    return tooMany(retryAfterMs);
  }

  #failed(error: unknown): HttpAnswer {
    if (error instanceof Absent) return { status: 501, body: { ok: false, error: error.message } };
    if (error instanceof MappingFailed) {
      const { cause, message } = error;
      this.#options.log.error(cause === undefined ? {} : { err: cause }, `a webhook was not accepted: ${message}`);
      return { status: 500, body: { ok: false, error: "hook mapping failed" } };
    }
    if (isGatewayError(error) && error.code !== "INTERNAL") return refusalAnswer(error);
    return this.#unexpected(error);
  }

  #unexpected(error: unknown): HttpAnswer {
    const correlationId = randomBytes(6).toString("hex");
    this.#options.log.error({ err: error, correlationId }, "a webhook failed unexpectedly");
    return refusalAnswer(new GatewayError("INTERNAL", `internal error (${correlationId})`));
  }
}

function tooMany(retryAfterMs: number): HttpAnswer {
  const seconds = String(Math.max(1, Math.ceil(retryAfterMs / 1_000)));
  return { ...TEXT_ANSWERS.tooMany, headers: { "Retry-After": seconds } };
}

const trimmed = (path: string) => path.replace(/^\/+|\/+$/g, "");

/** Whether a mapping of this path authenticates its senders by something other than the hook token. */
function maySign({ mappings }: Catalogue, path: string): boolean {
  return mappings.some((one) => one.enabled && one.verify.type !== BEARER && (one.path ?? path) === path);
}
