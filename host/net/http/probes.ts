/** Liveness and readiness probes for supervisors and load balancers, without a credential. Spec: http/auth.md §10, spec/README.md. */
import type { IncomingMessage, ServerResponse } from "node:http";

type Probe = "live" | "ready";

const PROBES: ReadonlyMap<string, Probe> = new Map([
  ["/health", "live"],
  ["/healthz", "live"],
  ["/ready", "ready"],
  ["/readyz", "ready"],
]);

export const PROBE_PATHS: readonly string[] = [...PROBES.keys()];

export interface Readiness {
  readonly isStopping: boolean;
  /** Names of the plugins that should run and do not. Never a path: the response is public. */
  readonly missing: readonly string[];
}

/** The path of a probe in a request target; a query string is ignored. @returns `undefined`: not a probe */
export function probePath(target: string): string | undefined {
  const path = target.split("?", 1)[0] ?? "";
  return PROBES.has(path) ? path : undefined;
}

/** Choice: not ready is a 503 with the names of the plugins and no reasons, which are for operators. */
export function answerProbe(
  path: string,
  { method }: IncomingMessage,
  response: ServerResponse,
  readiness: () => Readiness,
): void {
  if (method !== "GET" && method !== "HEAD") {
    const headers = { Allow: "GET, HEAD", "Content-Type": "text/plain; charset=utf-8", Connection: "close" };
    response.writeHead(405, headers).end("Method Not Allowed");
    return;
  }
  const answer = PROBES.get(path) === "live" ? { ok: true, status: "live" } : readyAnswer(readiness());
  const text = JSON.stringify(answer);
  response.writeHead(answer.ok ? 200 : 503, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(text),
    "Cache-Control": "no-store",
  });
  response.end(text);
}

function readyAnswer({ isStopping, missing }: Readiness) {
  if (isStopping) return { ok: false, status: "stopping" };
  return missing.length === 0 ? { ok: true, status: "ready" } : { ok: false, status: "not ready", plugins: missing };
}
