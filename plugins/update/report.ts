/** The outcome of an update as text for people and as a note. Pure. */
import type { Static } from "@svc/sdk";
import type { RestartNote } from "@svc/sdk/gateway";
import type { UpdateAvailable } from "@svc/sdk/update";
import type { Update, UpdateReport } from "./updater.ts";

/** Spec: protocol/stores.md §8. */
export const DOCTOR_HINT = "Run: svc doctor";

type Version = UpdateReport["before"];

/** The text to post to the session: the caller's note, then the outcome and the next steps. */
export function messageOf(update: Update, note?: string): string {
  const lines = updateLines(update);
  return [...(note?.trim() ? [note.trim(), ""] : []), ...lines].join("\n");
}

export function updateLines({ report, why, byHand = [] }: Update): string[] {
  const { status, before, after, reason, plan = [] } = report;
  const known = why ?? reason ?? "no reason given";
  const hand = byHand.length > 0 ? ["By hand:", ...byHand.map((line) => `  ${line}`)] : [];
  if (status === "ok") return [`Updated from ${versionText(before)} to ${versionText(after)}.`];
  if (status === "error") return [`The update failed; ${versionText(before)} keeps running: ${known}`, ...hand];
  if (reason === "dry-run") return [`${known}:`, ...plan.map(({ name, command }) => `  ${name.padEnd(8)} ${command}`)];
  if (reason === "up-to-date") return [`Nothing to do: ${known}.`];
  return [`Not updated: ${known}.`, ...hand];
}

/** E.g. `0.2.0 (1a2b3c4)`. */
export function versionText(version: Version): string {
  const { sha, version: number } = version ?? {};
  const short = sha?.slice(0, 7);
  if (number && short) return `${number} (${short})`;
  return number ?? short ?? "an unknown version";
}

/** The note to post after the restart. Spec: protocol/stores.md §8. */
export function noteOf(
  update: Update,
  asked: { readonly note?: string; readonly sessionKey?: string },
  now: number,
): RestartNote {
  const { status, mode, root, before, after, steps, reason, durationMs } = update.report;
  return {
    kind: "update",
    status,
    ts: now,
    ...(asked.sessionKey ? { sessionKey: asked.sessionKey } : {}),
    message: messageOf(update, asked.note),
    doctorHint: DOCTOR_HINT,
    stats: {
      mode,
      ...(root === undefined ? {} : { root }),
      before: before ?? null,
      after: after ?? null,
      steps: steps.map(({ name, command, cwd, durationMs: took, stdoutTail, stderrTail, exitCode }) => ({
        name,
        command,
        cwd,
        durationMs: took,
        log: { stdoutTail: stdoutTail ?? null, stderrTail: stderrTail ?? null, exitCode },
      })),
      reason: reason ?? null,
      durationMs,
    },
  };
}

export function availableLines(available: Static<typeof UpdateAvailable>, reason: string | undefined): string[] {
  if (reason !== undefined) return [`The check for a newer version failed: ${reason}`, "Next: svc update --dry-run"];
  if (available === null) return ["There is no newer version."];
  const { currentVersion, latestVersion, channel } = available;
  return [
    `${latestVersion} is available (${channel}); ${currentVersion} is running.`,
    "Next: svc update --dry-run, then svc update",
  ];
}
