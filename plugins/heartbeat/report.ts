/** Reports about heartbeats. Pure. Spec: protocol/events.md §5, http/sessions-routing.md §7.3. */
import { acknowledged } from "@svc/kit/runs";
import type { RunOutcome } from "@svc/sdk/agents";
import { cut } from "@svc/sdk/cli";
import type { DeliveryOutcome } from "@svc/sdk/channels";
import type { HeartbeatReport, HeartbeatSettings, HeartbeatVisibility } from "@svc/sdk/heartbeat";

const PREVIEW_CHARS = 200;

/** A report without its time. */
export type Report = Omit<HeartbeatReport, "ts">;

/** The outcome of a turn: its report, or a text to deliver before the report. */
export type Result = { readonly report: Report } | { readonly alert: string } | { readonly ok: Report };

type Told = Pick<RunOutcome, "status" | "text" | "errorMessage" | "takenBack" | "startedAt" | "endedAt">;

/** `ok`: nothing to report, except if `showOk` is on. */
export function resultOf(
  outcome: Told,
  { ackMaxChars, target }: HeartbeatSettings,
  shown: HeartbeatVisibility,
): Result {
  const took = durationOf(outcome);
  if (outcome.status === "error")
    return {
      report: { status: "failed", reason: outcome.errorMessage ?? "the turn failed", ...took, ...mark("error", shown) },
    };
  if (outcome.status === "aborted") return { report: { status: "skipped", reason: "stopped", ...took } };
  const verdict = acknowledged(outcome.text, { maxChars: ackMaxChars });
  const nothing = outcome.takenBack ?? ("nothing" in verdict ? verdict.nothing : undefined);
  if (nothing === "duplicate")
    return { report: { status: "skipped", reason: "duplicate", ...previewOf(outcome.text), ...took } };
  if (nothing !== undefined)
    return {
      ok: { status: nothing === "token" ? "ok-token" : "ok-empty", ...took, ...mark("ok", shown), silent: true },
    };
  const alert = "alert" in verdict ? verdict.alert : outcome.text;
  const untold = { ...previewOf(alert), ...took, ...mark("alert", shown) };
  if (!shown.showAlerts) return { report: { status: "skipped", reason: "alerts-disabled", ...untold } };
  if (target === "none") return { report: { status: "skipped", reason: "no-target", ...untold } };
  return { alert };
}

/** The report after an attempt to deliver an alert. */
export function reportOfAlert(
  outcome: Told,
  alert: string,
  delivered: DeliveryOutcome,
  shown: HeartbeatVisibility,
): Report {
  const told = { ...previewOf(alert), ...durationOf(outcome), ...mark("alert", shown) };
  if (!delivered.delivered) return { status: "skipped", reason: delivered.code ?? delivered.reason, ...told };
  return { status: "sent", ...placeOf(delivered), ...told };
}

/** Where a text was delivered. */
export function placeOf(delivered: DeliveryOutcome): Pick<Report, "channel" | "to" | "accountId"> {
  if (!delivered.delivered) return {};
  const { channel, to, accountId } = delivered;
  return { channel, to, ...(accountId === undefined ? {} : { accountId }) };
}

function mark(indicatorType: NonNullable<Report["indicatorType"]>, { useIndicator }: HeartbeatVisibility) {
  return useIndicator ? { indicatorType } : {};
}

function previewOf(text: string): { preview: string } {
  return { preview: cut(text.trim(), PREVIEW_CHARS, "") };
}

function durationOf({ startedAt, endedAt }: Told): { durationMs?: number } {
  return startedAt === undefined ? {} : { durationMs: Math.max(0, Math.round(endedAt - startedAt)) };
}

/** Milliseconds during which the same alert is not repeated. Spec: §7.3. */
const REPEAT_MS = 24 * 3_600_000;

/** The last alert, if it must not be repeated yet. @param entry of the session */
export function recentAlert(entry: Readonly<Record<string, unknown>> | undefined, now: number): string | undefined {
  const { lastHeartbeatText: text, lastHeartbeatSentAt: sentAt } = entry ?? {};
  if (typeof text !== "string" || typeof sentAt !== "number") return undefined;
  return now - sentAt < REPEAT_MS ? text : undefined;
}

/** The model's reasoning as text for people; `undefined`: none. */
export function reasoningOf({ message }: Pick<RunOutcome, "message">): string | undefined {
  const thoughts = (message?.content ?? []).flatMap((block) =>
    block.type === "thinking" ? [block.thinking.trim()] : [],
  );
  const text = thoughts.filter(Boolean).join("\n\n");
  return text === "" ? undefined : `Reasoning:\n${text}`;
}
