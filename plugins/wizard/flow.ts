/** The flow of the guided setup: asks the questions of all parts in order, and writes what each part has set up. */
import { withDeadline } from "@svc/kit/time";
import {
  type Clock,
  type Contribution,
  type ExtensionView,
  GatewayError,
  isGatewayError,
  type Logger,
  messageOf,
  type Principal,
  untilAborted,
} from "@svc/sdk";
import type { ConfigStore, ReloadKind } from "@svc/sdk/config";
import type { SetupAnswer, SetupCall, SetupPart, SetupQuestion, SetupStep } from "@svc/sdk/wizard";
import { EnteredSecrets, isStep, stepOf } from "./answers.ts";
import { writePatch } from "./config-patch.ts";
import type { Ask } from "./session.ts";

/** Choice: milliseconds of one call of a part. A channel may wait for a person who scans a code. */
const CALL_MS = 300_000;

export interface FlowSources {
  readonly parts: ExtensionView<SetupPart>;
  readonly config: Pick<ConfigStore, "snapshot" | "write">;
  readonly clock: Pick<Clock, "setTimeout">;
  readonly log: Pick<Logger, "warn">;
}

export interface FlowRequest {
  readonly principal: Principal;
  readonly workspace?: string;
  /** Aborts when the session ends. */
  readonly signal: AbortSignal;
  readonly secrets: EnteredSecrets;
  /** Called after each write with the reload that its keys need. */
  written(reload: ReloadKind | undefined): void;
}

/** Ends the whole setup: a part rejected an answer. */
class RejectedAnswer extends Error {}

type Work = (part: SetupPart, call: SetupCall) => Promise<SetupStep>;

/**
 * Resolves when all parts have ended.
 * @throws GatewayError a part rejected an answer with `INVALID_REQUEST`, or the person ended the setup after a failure
 */
export async function runFlow(
  { parts, config, clock, log }: FlowSources,
  request: FlowRequest,
  ask: Ask,
): Promise<void> {
  const { principal, workspace, signal, secrets } = request;
  const over = new Set<string>();
  let news: string[] = [];

  async function put(question: SetupQuestion, title: string): Promise<SetupAnswer> {
    const step = stepOf(question, title, news, secrets.hide);
    news = [];
    const answer = await ask(question, step);
    secrets.add(question, answer);
    return answer;
  }

  /** Calls the part as its plugin has it now: the plugin may have been reloaded since the last call. */
  async function called(id: string, work: Work): Promise<SetupStep> {
    const found = parts.get(id);
    if (!found) throw new GatewayError("UNAVAILABLE", `the plugin of the part "${id}" is no longer loaded`);
    const { plugin } = found;
    const { parsed } = await config.snapshot();
    const late = () => `the plugin "${plugin}" did not respond within ${CALL_MS / 60_000} minutes`;
    const step: unknown = await withDeadline({ ms: CALL_MS, clock, signals: [signal], late }, (ending) => {
      const call = {
        principal,
        config: Object(parsed) as Record<string, unknown>,
        signal: ending,
        ...(workspace === undefined ? {} : { workspace }),
      };
      return untilAborted(
        parts.call(found, async (part) => work(part, call)),
        ending,
      );
    });
    if (isStep(step)) return step;
    throw new GatewayError("UNAVAILABLE", `the plugin "${plugin}" returned neither a question nor an end`);
  }

  async function finish({ id, value: { title } }: Contribution<SetupPart>): Promise<void> {
    let step = await called(id, (part, call) => part.start(call));
    while ("ask" in step) {
      const { ask: question, state } = step;
      const answer = await put(question, title);
      step = await called(id, (part, call) => part.next({ ...call, state, answer })).catch((error: unknown) => {
        throw isGatewayError(error) && error.code === "INVALID_REQUEST" ? new RejectedAnswer(error.message) : error;
      });
    }
    if (step.config) request.written((await writePatch(config, principal.id, step.config)).reload);
    if (step.message !== undefined) news.push(step.message);
  }

  /** Repeats a part that failed for as long as the person wants. */
  async function conduct(part: Contribution<SetupPart>): Promise<void> {
    for (;;) {
      const why = await finish(part).then(
        () => undefined,
        (error: unknown) => {
          signal.throwIfAborted();
          if (error instanceof RejectedAnswer) throw new GatewayError("INVALID_REQUEST", error.message);
          const reason = secrets.hide(messageOf(error));
          log.warn({ plugin: part.plugin, reason }, "a part of the guided setup failed");
          return failureText(error, part);
        },
      );
      if (why === undefined) return;
      const { title } = part.value;
      const choice = await put({ kind: "select", message: why, options: AFTER_FAILURE, initial: "skip" }, title);
      if (choice === "end") throw new GatewayError("UNAVAILABLE", why);
      if (choice === "repeat") continue;
      news.push(`${title}: skipped. It failed: ${why}`);
      return;
    }
  }

  for (;;) {
    const part = inOrder(parts.list()).find(({ id }) => !over.has(id)); // plugins may come and go meanwhile
    if (!part) break;
    over.add(part.id);
    await conduct(part);
  }
  if (news.length > 0) await put({ kind: "note", message: "" }, "Setup");
}

/** Skipping is the default: a client that only accepts defaults must not repeat a failure forever. */
const AFTER_FAILURE = [
  { value: "repeat", label: "Repeat this part" },
  { value: "skip", label: "Skip this part" },
  { value: "end", label: "End the setup; what was set up so far stays" },
];

function inOrder(parts: readonly Contribution<SetupPart>[]): readonly Contribution<SetupPart>[] {
  return parts.toSorted((left, right) => left.value.order - right.value.order || (left.id < right.id ? -1 : 1));
}

/** An unexpected error is in the log; its text may contain internals. */
function failureText(error: unknown, { id, plugin }: Contribution<SetupPart>): string {
  if (!isGatewayError(error))
    return `The part "${id}" of the plugin "${plugin}" failed; see: svc logs --subsystem ${plugin}`;
  const { issues } = Object(error.details) as { issues?: unknown };
  const lines = Array.isArray(issues) ? issues.slice(0, 10).map((issue) => issueLine(issue)) : [];
  return [`The part "${id}" of the plugin "${plugin}" failed: ${messageOf(error)}`, ...lines].join("\n");
}

function issueLine(issue: unknown): string {
  const { path = "", message = "" } = Object(issue) as { path?: unknown; message?: unknown };
  return `${String(path)}: ${String(message)}`;
}
