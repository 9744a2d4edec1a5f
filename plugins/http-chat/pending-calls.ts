/** Finds the calls of tool results whose call is not in the request but in the session. */
import type { ToolResultMessage } from "@svc/sdk/models";
import type { Sessions, TranscriptItem } from "@svc/sdk/sessions";
import { type ResultEntry, resultMessage } from "./entries.ts";
import { refuseField } from "./refusals.ts";

/** Choice: number of latest messages searched for the call; other clients may have written to the session since. */
const LOOK_BACK = 50;

/** @param now epoch ms. @throws GatewayError `INVALID_REQUEST` for an answer to an unknown call */
export async function namedResults(
  results: readonly ResultEntry[],
  sessionKey: string,
  sessions: Pick<Sessions, "transcript">,
  now: number,
): Promise<readonly ToolResultMessage[]> {
  const isKnown = results.every(({ toolName }) => toolName !== undefined);
  const items = isKnown ? [] : await sessions.transcript(sessionKey, LOOK_BACK);
  return results.map((result) => {
    const { param, toolCallId, toolName = nameIn(items, toolCallId) } = result;
    if (toolName === undefined)
      return refuseField(`${param}.tool_call_id`, "neither the request nor the session has a call of this id");
    return resultMessage(result, toolName, now);
  });
}

function nameIn(items: readonly TranscriptItem[], id: string): string | undefined {
  const blocks = items.flatMap(({ message }) => (message.role === "assistant" ? message.content : []));
  const call = blocks.findLast((block) => block.type === "toolCall" && block.id === id);
  return call?.type === "toolCall" ? call.name : undefined;
}
