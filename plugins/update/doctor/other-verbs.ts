/** What other verbs of `svc` find: they are run as they are typed, so that there is one place for each check. */
import { runProgram } from "@svc/kit/exec";
import { messageOf } from "@svc/sdk";
import { visible } from "@svc/sdk/cli";
import type { Finding } from "./finding.ts";

/** Runs `svc <words> --json`. @returns its one JSON value. @throws Error it said something else */
export type AskVerb = (words: readonly string[]) => Promise<unknown>;

/** Milliseconds. */
const TIMEOUT = 60_000;

/** @param script of the command that runs now */
export function askVerbsOf(script: string, env: Readonly<Record<string, string | undefined>>): AskVerb {
  const kept = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return async (words) => {
    const file = process.execPath;
    const { stdout, stderr, error } = await runProgram({
      file,
      argv: [file, script, ...words, "--json"],
      cwd: process.cwd(),
      env: kept,
      timeoutMs: TIMEOUT,
      signal: new AbortController().signal,
      stopReason: "",
    });
    try {
      return JSON.parse(stdout) as unknown;
    } catch {
      throw new Error(stderr.trim().split("\n")[0] || error || "it gave no answer");
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
}

/** Of `svc config validate`, keys that are no longer known included. */
export function configFindings(answer: unknown): Finding[] {
  const { path = "the configuration", issues = [], warnings = [] } = Object(answer) as ConfigAnswer; // another version may answer otherwise
  const told =
    (severity: Finding["severity"]) =>
    (issue: Issue): Finding => ({
      severity,
      check: "config",
      about: issue.path ? `${path}: ${issue.path}` : path,
      message: visible(issue.message ?? "it does not say what"),
      next: issue.path
        ? `svc config schema ${issue.path}, then svc config set or unset it`
        : "correct the file, then: svc config validate",
    });
  return [...issues.map(told("error")), ...warnings.map(told("warning"))];
}

interface PluginsAnswer {
  readonly findings?: readonly { severity?: string; about?: string; message?: string; next?: string }[];
  readonly error?: { readonly message?: unknown };
}

/** Of `svc plugins doctor`. */
export function pluginFindings(answer: unknown): Finding[] {
  const { findings = [], error } = Object(answer) as PluginsAnswer; // another version may answer otherwise
  if (error) return [failed("plugins", String(error.message), "svc plugins doctor")];
  return findings.map(({ severity, about, message, next }) => ({
    severity: severity === "error" ? "error" : "warning",
    check: "plugins",
    about: about ?? "a plugin",
    message: message ?? "it does not say what",
    next: next ?? "svc plugins doctor",
  }));
}

/** A check that could not be made says so. */
export function failed(check: string, thrown: unknown, next: string): Finding {
  const message = `it could not be checked: ${typeof thrown === "string" ? thrown : messageOf(thrown)}`;
  return { severity: "error", check, about: check, message: message.slice(0, 500), next };
}
