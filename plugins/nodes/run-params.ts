/** Validates the params of `system.run` for a node: known keys only, and no claim of an approval. Pure. Spec: protocol/methods-node.md §4. */
import { commandText, commandTexts } from "@svc/kit/exec";
import { refusal } from "@svc/sdk/errors";
import type { AllowedExec, SystemRunPlan } from "@svc/sdk/approvals";
import { present } from "./values.ts";

/** Forwarded params. */
export interface RunParams {
  readonly command: readonly string[];
  readonly rawCommand?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly needsScreenRecording?: boolean;
  readonly agentId?: string;
  readonly sessionKey?: string;
  readonly runId?: string;
}

/** Forwarded params of an approved run. */
export interface ApprovedRun extends RunParams {
  /** File contents that the approval binds. */
  readonly files?: AllowedExec["files"];
}

export interface ReadRun {
  readonly forwarded: RunParams;
  /** The client claims an approval, which must be checked. */
  readonly claims: { readonly decision: "allow-once" | "allow-always" | undefined } | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** @throws GatewayError `INVALID_REQUEST`; `details.code` `MISSING_COMMAND`, `RAW_COMMAND_MISMATCH` or `INVALID_PARAM` */
export function readRun(params: unknown): ReadRun {
  if (typeof params !== "object" || params === null || Array.isArray(params)) {
    throw refusal("MISSING_COMMAND", 'system.run requires params, e.g. {"command":["echo","hi"]}');
  }
  const fields = params as Fields; // an object; each value is checked below
  const rawCommand = text(fields, "rawCommand");
  const command = argvOf(own(fields, "command"), rawCommand !== undefined);
  if (rawCommand !== undefined && !commandTexts(command).includes(rawCommand.trim())) {
    const inferred = commandText(command);
    const message = `rawCommand is not the text of command; omit it, or send ${JSON.stringify(inferred.slice(0, 200))}`;
    throw refusal("RAW_COMMAND_MISMATCH", message, { rawCommand, inferred });
  }
  const forwarded = present({
    command,
    rawCommand,
    cwd: text(fields, "cwd"),
    env: envOf(own(fields, "env")),
    timeoutMs: milliseconds(own(fields, "timeoutMs")),
    needsScreenRecording: flag(own(fields, "needsScreenRecording")),
    agentId: text(fields, "agentId"),
    sessionKey: text(fields, "sessionKey"),
    runId: text(fields, "runId"),
  });
  return { forwarded: { ...forwarded, command }, claims: claimsOf(fields) };
}

/** The plan that an approval must match. */
export function planOf({ command, rawCommand, cwd, agentId, sessionKey }: RunParams): SystemRunPlan {
  return {
    argv: [...command],
    cwd: cwd ?? null,
    rawCommand: rawCommand ?? null,
    agentId: agentId ?? null,
    sessionKey: sessionKey ?? null,
  };
}

/** Params from the stored plan of the approval, which replaces the caller's values. */
export function approvedRun(
  { env, timeoutMs, needsScreenRecording, runId }: RunParams,
  allowed: AllowedExec,
): ApprovedRun {
  const { argv, rawCommand, cwd, agentId, sessionKey } = allowed.plan;
  const about = present({
    rawCommand,
    cwd,
    env,
    timeoutMs,
    needsScreenRecording,
    agentId,
    sessionKey,
    runId,
    approved: true,
    approvalDecision: allowed.decision,
    // Set only if the node listed them when it prepared the command.
    files: allowed.files,
  });
  return { command: argv, ...about };
}

/** Only `true` or an allowing decision is a claim; any other value is removed like an unknown key. */
function claimsOf(fields: Fields): ReadRun["claims"] {
  const said = own(fields, "approvalDecision");
  const decision = said === "allow-once" || said === "allow-always" ? said : undefined;
  return own(fields, "approved") === true || decision !== undefined ? { decision } : undefined;
}

function argvOf(value: unknown, hasRaw: boolean): readonly string[] {
  const isArgv = Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === "string");
  if (isArgv && value[0] !== "") return value.map(String);
  throw refusal(
    "MISSING_COMMAND",
    hasRaw
      ? 'rawCommand requires command, the same as an array of strings, e.g. ["echo","hi"]'
      : 'command must be an array of strings that starts with a program, e.g. ["echo","hi"]',
  );
}

/** Reads an own property; `null` counts as absent. */
function own(fields: Fields, key: string): unknown {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
  return value === null ? undefined : value;
}

function text(fields: Fields, key: string): string | undefined {
  const value = own(fields, key);
  if (value === undefined || typeof value === "string") return value === "" ? undefined : value;
  return refuse(key, "a string");
}

function flag(value: unknown): boolean | undefined {
  return value === undefined || typeof value === "boolean" ? value : refuse("needsScreenRecording", "true or false");
}

function milliseconds(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const isTime = typeof value === "number" && Number.isFinite(value) && value >= 0;
  return isTime ? Math.floor(value) : refuse("timeoutMs", "a number of milliseconds");
}

function envOf(value: unknown): Readonly<Record<string, string>> | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse("env", "an object of strings");
  for (const [name, content] of Object.entries(value)) {
    if (!/^[^=\0]+$/.test(name) || name === "__proto__" || typeof content !== "string" || content.includes("\0"))
      return refuse("env", "an object of strings");
  }
  return Object.fromEntries(Object.entries(value)) as Record<string, string>; // checked just now
}

function refuse(param: string, what: string): never {
  throw refusal("INVALID_PARAM", `${param} of system.run must be ${what}`, { param });
}
