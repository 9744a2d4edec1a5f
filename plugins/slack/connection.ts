/** One account from start to end, in both modes, and the HTTP route. */
import { isGatewayError, pause, type RouteReply, type RouteRequest, untilAborted } from "@svc/sdk";
import { AnySignal, withDeadline } from "@svc/kit/time";
import type { ChannelAccount, ChannelReport, ChannelRun } from "@svc/sdk/channels";
import { identify } from "./api.ts";
import type { Settings } from "./config.ts";
import { contentOf, signatureProblem } from "./http.ts";
import { openHistory } from "./history.ts";
import { type Accept, type Inbox, type SlackContext, createInbox } from "./inbox.ts";
import { listen } from "./socket.ts";

/** Milliseconds until a request is answered: Slack waits 3 s. */
const ANSWER_MS = 2_500;

/** A running account in mode `http`. */
export interface Live {
  readonly accept: Accept;
  readonly alive: () => void;
}

/** Running accounts in mode `http`, by id. */
export type LiveAccounts = Map<string, Live>;

/** Runs until the signal aborts. @throws GatewayError `NOT_LINKED`: Slack refuses a token; others: run it again later */
export async function runAccount(
  told: ChannelRun<Settings>,
  accounts: LiveAccounts,
  context: SlackContext,
): Promise<void> {
  const { settings } = told;
  if (told.signal.aborted) return;
  told.report({ state: "connecting" });
  const ending = new AnySignal(told.signal);
  const { signal } = ending;
  let inbox: Inbox | undefined;
  const report = (given: ChannelReport) => {
    told.report(given);
    if (given.state === "connected") inbox?.catchUp();
  };
  const run = { ...told, signal, report };
  try {
    const { userId, teamId, name, team } = await identify(run);
    const commands = run.commands.map((command) => command.name);
    const history = await openHistory(run, userId);
    inbox = createInbox(run, { userId, teamId, slashCommand: settings.slashCommand, commands }, history, context);
    await connected(run, `as ${name} in ${team}`, inbox.accept, accounts, context);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    ending.abort();
    await inbox?.settled();
  }
}

async function connected(
  run: ChannelRun<Settings>,
  as: string,
  accept: Accept,
  accounts: LiveAccounts,
  context: SlackContext,
): Promise<void> {
  const { settings, accountId, report, alive } = run;
  if (settings.mode === "socket") {
    await whileTokenWorks(run, context, (signal) => listen({ ...run, signal }, as, accept, context));
    return;
  }
  const live = { accept, alive };
  accounts.set(accountId, live);
  try {
    report({ state: "connected", detail: as });
    await whileTokenWorks(run, context, (signal) => untilAborted(new Promise<never>(() => undefined), signal));
  } finally {
    if (accounts.get(accountId) === live) accounts.delete(accountId);
  }
}

/** Runs `work`, and checks the bot token meanwhile: without a valid one, Slack only stops sending events. */
async function whileTokenWorks(
  run: ChannelRun<Settings>,
  { clock }: SlackContext,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { settings, report, alive } = run;
  const over = new AnySignal(run.signal);
  const { signal } = over;
  let isAway = false;
  const check = async (): Promise<void> => {
    for (;;) {
      await pause(settings.checkMs, clock, signal);
      if (signal.aborted) return;
      try {
        await identify({ settings, signal });
        if (settings.mode === "http") alive();
        if (isAway) report({ state: "connected" });
        isAway = false;
      } catch (error) {
        if (signal.aborted) return;
        if (isGatewayError(error) && error.code === "NOT_LINKED") throw error;
        isAway = settings.mode === "http";
        if (isAway) report({ state: "disconnected", detail: "Slack does not answer" });
      }
    }
  };
  const both = [work(signal), check()];
  try {
    await Promise.race(both);
  } finally {
    over.abort();
    await Promise.allSettled(both);
  }
}

/** Handler of the route `/plugins/slack/:account`. */
export function createHook(
  accounts: readonly ChannelAccount<Settings>[],
  running: LiveAccounts,
  context: SlackContext,
) {
  return async (request: RouteRequest<unknown>): Promise<RouteReply> => {
    const account = accounts.find(({ id }) => id === request.params["account"]);
    if (account?.settings.mode !== "http" || account.enabled === false)
      return { status: 404, body: "no Slack account with mode http has this id" };
    const problem = signatureProblem(request, account.settings.signingSecret, context.clock.now());
    if (problem !== undefined) {
      context.log.warn({ account: account.id, reason: problem }, "a request to the Slack channel was refused");
      return { status: 401, body: problem };
    }
    const content = contentOf(request);
    if (!content) return { status: 400, body: "neither JSON nor a form of Slack" };
    if (content.kind === "url_verification") return { body: { challenge: content.challenge } };
    const live = running.get(account.id);
    if (!live) return { status: 503, body: "the account is not running" };
    live.alive();
    try {
      const late = () => "the gateway is busy";
      const answer = await withDeadline({ ms: ANSWER_MS, clock: context.clock, signals: [], late }, (signal) =>
        untilAborted(live.accept(content.kind, content.body), signal),
      );
      return answer === undefined ? { body: "" } : { body: answer };
    } catch (error) {
      // Slack repeats it; what is still waiting has the same id.
      return { status: 503, body: isGatewayError(error) ? error.message : "not accepted" };
    }
  };
}
