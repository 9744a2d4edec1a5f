/** Commands about the conversation: start it afresh, stop it, shorten it, see who is in it. */
import type { ChatCommand, ChatCommandCall } from "@svc/sdk/commands";
import { currentModel } from "./current-model.ts";
import { queueReply, queueSettings } from "./queue-settings.ts";
import { alone, answering, asText, type CommandSources, type CommandTable, entryOf, need } from "./sources.ts";
import { authorsText, trustAuthors } from "./trust.ts";

export function conversationCommands(sources: CommandSources): CommandTable {
  const sessions = (call: ChatCommandCall) => need(sources.sessions, "sessions", call);
  return {
    new: restart(sources, "new", "start a new session, then send the message", "New session started."),
    reset: restart(sources, "reset", "same as /new, for a conversation that went wrong", "Session reset."),
    stop: {
      summary: "stop the replies that are being written",
      urgent: true,
      ...alone((call) => stop(sources, call)),
    },
    compact: {
      summary: "replace the older part of the conversation with a summary",
      usage: "[what to keep]",
      run: async (call) => ({ message: asText(call), compact: call.text }),
    },
    queue: {
      summary: "what happens to messages while a reply is being written",
      usage: "[collect|followup|steer|steer-backlog|interrupt|default]",
      ...answering(async (call) => {
        const patch = queueSettings(call.text);
        const isChange = Object.keys(patch).length > 0;
        return queueReply(
          isChange ? await sessions(call).ensure(call.sessionKey, patch) : await entryOf(sources, call),
        );
      }),
    },
    status: {
      summary: "show who wrote the messages in this conversation, its model and its replies in progress",
      ...alone((call) => status(sources, call)),
    },
    whoami: { summary: "show who you are to the gateway", scope: "operator.read", ...alone(whoami) },
    trust: {
      summary: "trust the messages of others in this conversation like your own",
      scope: "operator.admin",
      ...alone((call) =>
        trustAuthors(call.sessionKey, sessions(call), { now: sources.clock.now(), runId: call.runId }),
      ),
    },
  };
}

function restart(sources: CommandSources, reason: "new" | "reset", summary: string, done: string): ChatCommand {
  return {
    summary,
    usage: "[message]",
    async run(call) {
      const { text, sessionKey, runId, hasFiles } = call;
      const sessions = need(sources.sessions, "sessions", call);
      /** The mark keeps a repetition from resetting what was written since. */
      const reset = async () => {
        if ((await sessions.get(sessionKey))?.["resetByRunId"] === runId) return;
        await sessions.reset(sessionKey, reason);
        await sessions.ensure(sessionKey, { resetByRunId: runId });
      };
      if (text !== "" || hasFiles) return { message: text, before: reset };
      await reset();
      return { reply: done };
    },
  };
}

/** Choice: stops the runs that this surface started in the session, not those of others or of scheduled jobs. */
function stop(sources: CommandSources, call: ChatCommandCall): string {
  const runs = need(sources.runs, "agents", call);
  const stopped = runs
    .active(call.sessionKey)
    .filter(({ runId, source }) => source === call.surface && runs.abort(runId, "stop")).length;
  return stopped === 0 ? "Nothing to stop." : `Stopped ${stopped} run${stopped === 1 ? "" : "s"}.`;
}

async function status(sources: CommandSources, call: ChatCommandCall): Promise<string> {
  const authors = await authorsText(call.sessionKey, need(sources.sessions, "sessions", call));
  const model = currentModel(sources, call, await entryOf(sources, call));
  const active = sources.runs.get()?.active(call.sessionKey).length ?? 0;
  return `${authors}\nModel: ${model ?? "none"}. Replies in progress or waiting: ${active}.`;
}

function whoami({ principal, sender, address, sessionKey }: ChatCommandCall): string {
  const name = sender?.name === undefined ? "" : ` (${sender.name})`;
  const place = [address?.channel, address?.accountId, address?.to].filter((part) => part !== undefined).join(", ");
  const person = sender
    ? `You are ${sender.id}${name}${place === "" ? "" : ` on ${place}`}, for the gateway `
    : "You are ";
  return `${person}${principal.id} with ${principal.scopes.join(", ") || "no scopes"}, in the session ${sessionKey}.`;
}
