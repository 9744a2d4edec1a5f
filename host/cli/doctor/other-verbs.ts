/** Checks by other verbs of `svc`. Each verb runs in its own process, so that a crash does not end the other checks. */
import { messageOf } from "@svc/sdk";
import { visible } from "@svc/sdk/cli";
import { runProgram } from "../run-program.ts";
import { installedCommands } from "../plugin-verbs.ts";
import type { Finding } from "./finding.ts";

/** Runs `svc <words> --json`. @returns its one JSON value. @throws Error for any other output */
export type AskVerb = (words: readonly string[]) => Promise<unknown>;

/** Milliseconds a verb may run. */
const TIMEOUT = 60_000;

/** @param script the path of the running command */
export function askVerbsOf(script: string, env: Readonly<Record<string, string | undefined>>): AskVerb {
  const kept = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return async (words) => {
    const file = process.execPath;
    const { stdout, stderr } = await runProgram(file, [script, ...words, "--json"], {
      cwd: process.cwd(),
      env: kept,
      timeoutMs: TIMEOUT,
    });
    try {
      return JSON.parse(stdout) as unknown;
    } catch {
      throw new Error(stderr.trim().split("\n")[0] || "it printed no JSON");
    }
  };
}

interface ConfigAnswer {
  readonly path?: string;
  readonly issues?: readonly Issue[];
  readonly warnings?: readonly Issue[];
}
interface Issue {
  readonly path?: string;
  readonly message?: string;
  readonly breaks?: boolean;
}

/** Findings from the output of `svc config validate`. A warning with `breaks` (the setting fails when used) is an error here. */
export function configFindings(answer: unknown): Finding[] {
  const { path = "the configuration", issues = [], warnings = [] } = Object(answer) as ConfigAnswer; // another version may use another format
  const found =
    (severity: Finding["severity"]) =>
    (issue: Issue): Finding => {
      const [message = "", ...own] = (issue.message ?? "no details given").split("; next: ");
      const usual = issue.path
        ? `svc config schema ${issue.path}, then svc config set or svc config unset`
        : "correct the file, then: svc config validate";
      return {
        severity: issue.breaks === true ? "error" : severity,
        check: "config",
        about: issue.path ? `${path}: ${issue.path}` : path,
        message: visible(message),
        next: own.length > 0 ? visible(own.join("; next: ")) : usual,
      };
    };
  return [...issues.map(found("error")), ...warnings.map(found("warning"))];
}

interface VerbAnswer {
  readonly findings?: readonly { severity?: string; check?: string; about?: string; message?: string; next?: string }[];
  readonly error?: { readonly message?: unknown; readonly details?: { readonly code?: unknown } };
}

/**
 * Findings from the output of `svc <name> doctor`: `{ findings: [{ severity, check, about, message, next }] }`.
 * Choice: a plugin that the running gateway does not use has nothing to check; `svc plugins list` explains why it is not in use.
 */
export function verbFindings(name: string, answer: unknown): Finding[] {
  const { findings = [], error } = Object(answer) as VerbAnswer; // another version may use another format
  if (error?.details?.code === "UNKNOWN_METHOD") return [];
  if (error) return [failed(name, String(error.message), `svc ${name} doctor`)];
  return findings.map(({ severity, check, about, message, next }) => ({
    severity: severity === "error" || severity === "info" ? severity : "warning",
    check: check ?? name,
    about: about ?? name,
    message: message ?? "no details given",
    next: next ?? `svc ${name} doctor`,
  }));
}

/**
 * The verbs `<name> doctor` of plugins. Each prints `{ findings }` with `--json` and accepts `--running`, which means that a
 * gateway uses the state directory. @returns an empty list if the plugins cannot be listed
 */
export async function pluginVerbs(): Promise<string[]> {
  try {
    return (await installedCommands()).map(({ name }) => name).filter((name) => /^\S+ doctor$/.test(name));
  } catch {
    return [];
  }
}

/** The finding for a check that failed. */
export function failed(check: string, thrown: unknown, next: string): Finding {
  const message = `the check failed: ${typeof thrown === "string" ? thrown : messageOf(thrown)}`;
  return { severity: "error", check, about: check, message: message.slice(0, 500), next };
}
