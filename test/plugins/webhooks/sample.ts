/** Mappings, runs and a trial in the host's format. */
import type { WebhookMappingInfo, WebhookRun, Webhooks, WebhookTrialReport } from "@svc/sdk/webhooks";

export const NOON = Date.UTC(2026, 10, 21, 12);

export const WAKE: WebhookMappingInfo = {
  id: "wake",
  origin: "action",
  enabled: true,
  path: "/hooks/wake",
  action: "wake",
  actionOwner: "heartbeat",
  verify: "bearer",
  problems: [],
};

export const BUILD: WebhookMappingInfo = {
  id: "build",
  origin: "config",
  enabled: true,
  path: "/hooks/build",
  match: { path: "build", source: "ci" },
  action: "agent",
  actionOwner: "agent-hooks",
  verify: "github",
  transform: {
    module: "build.ts",
    placement: "host",
    timeoutMs: 5_000,
    state: "stale",
    problem: "line 3: no",
    version: "1a2b",
  },
  problems: [
    { path: "hooks.mappings.0.verify", message: "no replay protection", severity: "warning" },
    { path: "build.ts", message: "line 3: no", severity: "error" },
  ],
};

/** The second entry of `hooks.mappings`, without an id. */
export const SECOND: WebhookMappingInfo = {
  id: "mapping-2",
  origin: "config",
  enabled: false,
  path: "*",
  action: "ticket",
  verify: "bearer",
  problems: [],
};

export const MAIL: WebhookMappingInfo = {
  ...WAKE,
  id: "mail",
  origin: "preset:mail",
  path: "/hooks/mail",
  action: "agent",
};

export const ROWS: readonly WebhookMappingInfo[] = [WAKE, BUILD, SECOND, MAIL];

export const FAILED: WebhookRun = {
  runId: "run-1",
  status: "failed",
  mapping: "build",
  action: "agent",
  sessionKey: "hook:1",
  acceptedAt: NOON,
  startedAt: NOON + 1_000,
  endedAt: NOON + 2_000,
  attempts: 3,
  reason: "no model\nanswered\u001b[2J",
  details: { tries: [1, 2] },
};

export const TRIAL: WebhookTrialReport = {
  matched: true,
  mapping: "build",
  passed: [{ id: "wake", why: 'the path is not "wake"' }],
  rendered: { message: "Build 7:\nfailed \u001b[31m", name: "Hook" },
  missing: ["payload.log"],
  transformed: { kind: "agent", message: "look at it" },
  action: "agent",
  params: { message: "look at it", deliver: true },
  policy: {
    wrapped: true,
    verify: "github",
    sessionKey: "hook:1",
    principal: { id: "webhook:build", scopes: ["operator.write"] },
  },
  response: { status: 200, body: { ok: true, runId: "trial" } },
  warnings: ["the signature was not looked at"],
};

/** An engine that returns the samples and records its calls. */
export function sampleEngine(changes: Partial<Webhooks> = {}) {
  const asked: [method: string, argument: unknown][] = [];
  const answer = <T>(method: string, value: T) => {
    return async (argument?: unknown) => {
      asked.push([method, argument]);
      return value;
    };
  };
  const engine: Webhooks = {
    enabled: true,
    path: "/hooks",
    transforms: { root: "/state/hooks/transforms", directory: "/state/hooks/transforms", refs: [] },
    list: () => ROWS,
    check: () => BUILD.problems,
    try: answer("try", TRIAL),
    action: () => undefined,
    ...changes,
  };
  return { engine, asked };
}
