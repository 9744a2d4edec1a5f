/** The first lines of `svc chat`: the agent, and what can be typed. */
import { isGatewayError } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { visibleLines } from "@svc/sdk/cli";
import { sessions } from "@svc/sdk/sessions";
import type { ChatClient } from "./conversation.ts";
import type { Style } from "./transcript-view.ts";

/** @param isNew the session has no messages yet: examples are shown */
export async function openingLines(
  client: ChatClient,
  sessionKey: string,
  isNew: boolean,
  style: Style,
): Promise<string[]> {
  const [who, model] = await Promise.all([agentOf(client, sessionKey), modelOf(client, sessionKey)]);
  const facts = [...(who ? [`agent ${who}`] : []), ...(model ? [`model ${model}`] : []), `session ${sessionKey}`];
  const lines = [facts.join(", "), "/help lists the commands; /quit or Ctrl-C leaves.", ...(isNew ? EXAMPLES : [])];
  return lines.map((line) => style.dim(visibleLines(line)));
}

const EXAMPLES = [
  "Examples:",
  "  What can you do?",
  "  status             uses a tool, also without a model",
  "  /new Let us begin  a new session with its first message",
];

async function agentOf(client: ChatClient, sessionKey: string): Promise<string | undefined> {
  return unlessRefused(async () => (await client.call(agents.identity, { sessionKey })).agentId);
}

/** Choice: the model of the last reply, else the default one. */
async function modelOf(client: ChatClient, sessionKey: string): Promise<string | undefined> {
  return unlessRefused(async () => {
    const found = await client.call(sessions.resolve, { key: sessionKey }).catch(() => undefined);
    const key = found?.ok ? found.key : sessionKey;
    const { sessions: rows, defaults } = await client.call(sessions.list, { search: key });
    const { modelProvider, model } = rows.find((row) => row.key === key && row.model !== undefined) ?? defaults;
    return model ? [...(modelProvider ? [modelProvider] : []), model].join("/") : undefined;
  });
}

/** `undefined` if the client may not call the method, or the gateway lacks its plugin. */
async function unlessRefused<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
}
