/** Trial of a request: runs the steps of the engine and reports them, but records nothing. */
import { GatewayError, isGatewayError, messageOf, notFound, type Principal } from "@svc/sdk";
import type { WebhookTrial, WebhookTrialReport } from "@svc/sdk/webhooks";
import type { Catalogue } from "./catalogue.ts";
import type { Passed, WebhookEngine } from "./engine.ts";
import { BEARER } from "./mapping.ts";
import { Absent, Held, MappingFailed, newTrace, type Trace } from "./pipeline.ts";
import { refusalAnswer } from "./reply.ts";
import { type IncomingWebhook, queryOf } from "./request.ts";

/** Processes a request up to the point where it would be recorded. @throws GatewayError `NOT_FOUND` no such mapping */
export async function tryOut(
  trial: WebhookTrial,
  engine: WebhookEngine,
  principalFor: (mapping: string) => Principal,
): Promise<WebhookTrialReport> {
  const catalogue = engine.catalogue();
  const request = trialRequest(trial, catalogue);
  const passed: Passed = [];
  const trace = newTrace();
  const payload = (typeof trial.payload === "object" && trial.payload !== null ? trial.payload : {}) as object;
  let mapping: string | undefined;
  const seen = () => ({ passed, warnings: trace.warnings, ...traced(trace) });
  try {
    const named = catalogue.mappings.find(({ id }) => id === trial.mapping);
    const target = engine.target(request, payload, catalogue, passed);
    if (target.kind === "none" || (named && target.kind === "mapping" && target.mapping !== named)) {
      const body = { ok: false, error: "Not Found" };
      const other = target.kind === "mapping" ? { mapping: target.mapping.id } : {};
      return { matched: false, ...other, ...seen(), response: { status: 404, body } };
    }
    mapping = target.kind === "direct" ? target.id : target.mapping.id;
    const accepted = await engine.evaluate(target, request, payload, catalogue, trace);
    if (!accepted) return { matched: true, mapping, ...seen(), response: { status: 204 } };
    const { prepared, action, wrapped, idempotencyKey } = accepted;
    const { id, scopes } = principalFor(mapping);
    const { sessionKey, params, reply } = prepared;
    return {
      matched: true,
      mapping,
      ...seen(),
      action: action.id,
      params,
      policy: {
        wrapped,
        verify: target.kind === "direct" ? BEARER : target.mapping.verify.type,
        ...(sessionKey === undefined ? {} : { sessionKey }),
        principal: { id, scopes },
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      },
      response: { status: 200, body: { ok: true, runId: "(created when the request is accepted)", ...reply } },
    };
  } catch (error) {
    return { matched: true, ...(mapping === undefined ? {} : { mapping }), ...seen(), ...failure(error, trace) };
  }
}

function traced({ rendered, missing, transformed }: Trace): Partial<WebhookTrialReport> {
  return {
    ...(rendered === undefined ? {} : { rendered }),
    ...(missing.length === 0 ? {} : { missing: [...new Set(missing)] }),
    ...(transformed === undefined ? {} : { transformed }),
  };
}

/** The response for the sender, and the reason for the operator. */
function failure(error: unknown, { warnings }: Trace): Pick<WebhookTrialReport, "response" | "warnings"> {
  if (error instanceof Absent)
    return { response: { status: 501, body: { ok: false, error: error.message } }, warnings };
  if (error instanceof Held) throw new GatewayError("UNAVAILABLE", error.message, { retryAfterMs: 1_000 });
  if (error instanceof MappingFailed) {
    const body = { ok: false, error: "hook mapping failed" };
    const why = error.cause === undefined ? error.message : `${error.message}: ${messageOf(error.cause)}`;
    return { response: { status: 500, body }, warnings: [...warnings, why] };
  }
  if (!isGatewayError(error)) throw error;
  const { status, body } = refusalAnswer(error);
  return { response: { status, body }, warnings };
}

/** The request that a sender would have made. A mapping for every path gets its own id as the path. @throws GatewayError `NOT_FOUND` */
function trialRequest(
  { mapping: wanted, headers = {}, path, payload }: WebhookTrial,
  catalogue: Catalogue,
): IncomingWebhook {
  const { settings, mappings, actions } = catalogue;
  const found = mappings.find(({ id }) => id === wanted);
  const isPath =
    !found &&
    (path !== undefined ||
      actions.has(wanted) ||
      mappings.some((one) => one.path === wanted || one.path === undefined));
  if (!found && !isPath) {
    const known = [
      ...mappings.map(({ id }) => id),
      ...[...actions.values()].filter(({ value }) => value.direct).map(({ id }) => id),
    ];
    notFound(`no mapping "${wanted}"; existing ones: ${known.join(", ") || "none"}`);
  }
  const target = (path ?? found?.path ?? wanted).replace(/^\/+/, "");
  const [subPath = ""] = target.split("?", 1);
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    path: subPath.replace(/\/+$/, ""),
    literalPath: subPath,
    headers: lower,
    query: queryOf(target),
    target: `${settings.path}/${target}`,
    rawBody: Buffer.from(JSON.stringify(payload ?? {})),
    trusted: true,
  };
}
