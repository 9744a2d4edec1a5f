/** Conducts the setup of a gateway: asks each step and sends the answer. */
import { GatewayError, isGatewayError, type ResultOf, untilAborted } from "@svc/sdk";
import { type CommandContext, time } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { detailsCode } from "@svc/sdk/errors";
import { wizard } from "@svc/sdk/wizard";
import type { Answers } from "./answers.ts";
import { isPerson, type OnboardFlags } from "./flags.ts";

/** Choice: milliseconds to wait for the gateway to confirm the end. */
const CANCEL_MS = 5_000;
/** Choice: steps of one setup; a setup with more is repeating itself. */
const MAX_STEPS = 500;

type Started = ResultOf<typeof wizard.start>;

export interface ConductOptions {
  readonly context: CommandContext;
  readonly client: GatewayClient;
  readonly answers: Answers;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  readonly workspace?: string;
}

/** @throws GatewayError the setup ended with an error; the reason of the signal; `Ended` */
export async function conduct(options: ConductOptions): Promise<void> {
  const { client, answers, signal } = options;
  const started = await begin(options);
  const { sessionId } = started;
  try {
    let { done, step, status, error }: ResultOf<typeof wizard.next> = started;
    for (let count = 0; !done && step; count++) {
      if (count === MAX_STEPS) throw new GatewayError("UNAVAILABLE", `the setup did not end after ${MAX_STEPS} steps`);
      const value = await untilAborted(answers(step), signal);
      const answer = { stepId: step.id, ...(value === undefined ? {} : { value }) };
      const next = client.call(wizard.next, { sessionId, answer }, { timeoutMs: 0 });
      ({ done, step, status, error } = await untilAborted(next, signal));
    }
    if (status !== "done")
      throw new GatewayError("UNAVAILABLE", `the setup ended: ${error ?? status}\nNext: svc onboard`);
  } catch (error) {
    await client.call(wizard.cancel, { sessionId }, { timeoutMs: CANCEL_MS }).catch(() => undefined); // it has ended already, or the gateway is gone
    throw error;
  }
}

/** Another setup may be open, e.g. because its terminal was closed: a person decides whether it ends. */
async function begin({ context, client, answers, signal, workspace }: ConductOptions): Promise<Started> {
  const start = () =>
    untilAborted(
      client.call(wizard.start, { mode: "local", ...(workspace === undefined ? {} : { workspace }) }, { timeoutMs: 0 }),
      signal,
    );
  try {
    return await start();
  } catch (error) {
    if (!isGatewayError(error) || detailsCode(error) !== "WIZARD_RUNNING") throw error;
    const { sessionId, startedAt } = error.details as { sessionId: string; startedAt: number };
    const flags = context.options as OnboardFlags;
    if (isPerson(context, flags)) {
      const message = `Another setup is open since ${time(startedAt)}, perhaps of a terminal that was closed. End it and start again?`;
      if ((await answers({ type: "confirm", message, initialValue: true })) !== true) throw error;
    } else if (flags.yes !== true) throw error;
    await client.call(wizard.cancel, { sessionId }).catch(() => undefined); // it ended meanwhile
    return start();
  }
}
