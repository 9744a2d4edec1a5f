/** Updates the fields of a session entry that describe its last run. */
import type { SessionEntry } from "@svc/sdk/sessions";
import type { Environment } from "./environment.ts";
import type { LiveRun } from "./live-runs.ts";
import type { ModelChain } from "./model-chain.ts";
import type { Conducted } from "./outcome.ts";
import { promptNote } from "./prompt-report.ts";

/** Never rejects. */
export async function noteOnSession(run: LiveRun, env: Environment, conducted: Conducted): Promise<void> {
  const { sessionKey } = run.request;
  const { report, chain, entry } = conducted;
  const { defaults } = env.config();
  try {
    const about = { entry, sessionKey, limits: defaults, now: env.clock.now() };
    const prompt = report && chain ? promptNote(report, { ...about, model: chain.current }) : {};
    await env.services.sessions.update(sessionKey, { ...sessionNote(conducted, defaults.contextTokens), ...prompt });
  } catch (error) {
    env.log.warn({ err: error, runId: run.id }, "the session entry could not be updated after a run");
  }
}

/** Fields of the entry. The token counts are stale after a run without a usage report. */
export function sessionNote(
  { result, chain, entry }: Conducted,
  contextTokens: number | undefined,
): Partial<SessionEntry> {
  const { usage, lastUsage } = result;
  const tokens =
    usage && lastUsage
      ? {
          inputTokens: usage.input,
          outputTokens: usage.output,
          cacheRead: usage.cacheRead,
          cacheWrite: usage.cacheWrite,
          totalTokens: lastUsage.totalTokens,
        }
      : {};
  const model = chain?.current;
  const window = contextTokens ?? model?.contextWindow;
  return {
    abortedLastRun: result.status === "aborted",
    totalTokensFresh: usage !== undefined,
    ...tokens,
    ...(model ? { model: model.id, modelProvider: model.provider } : {}),
    ...(model === undefined || window === undefined ? {} : { contextTokens: window }),
    ...(chain ? fallbackNotice(chain, entry, result.status === "ok") : {}),
  };
}

/** The model that replaces the selected one; cleared once the selected model answers again. */
function fallbackNotice(
  chain: ModelChain,
  entry: SessionEntry | undefined,
  isAnswered: boolean,
): Partial<SessionEntry> {
  const { selected, current, fallbackReason } = chain;
  if (selected !== current) {
    return {
      fallbackNoticeSelectedModel: `${selected.provider}/${selected.id}`,
      fallbackNoticeActiveModel: `${current.provider}/${current.id}`,
      fallbackNoticeReason: fallbackReason ?? "",
    };
  }
  if (!isAnswered || entry?.["fallbackNoticeActiveModel"] === undefined) return {};
  return {
    fallbackNoticeSelectedModel: undefined,
    fallbackNoticeActiveModel: undefined,
    fallbackNoticeReason: undefined,
  };
}
