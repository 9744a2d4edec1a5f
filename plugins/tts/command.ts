/** The command `/tts` of chats. */
import { invalidRequest, type Live, matches } from "@svc/sdk";
import type { ChatCommand, ChatCommandCall } from "@svc/sdk/commands";
import type { Sessions } from "@svc/sdk/sessions";
import { SpeechAuto } from "@svc/sdk/speech";
import type { SessionSpeech } from "./answers.ts";
import type { AudioFiles } from "./audio-files.ts";
import { type MethodSources, selectEngine, statusOf } from "./methods.ts";
import { type ConversationSources, isConversation, sayInConversation } from "./sending.ts";

export interface CommandSources
  extends ConversationSources, Pick<MethodSources, "view" | "config" | "prefs" | "clock"> {
  readonly speech: SessionSpeech;
  readonly sessions: Live<Pick<Sessions, "ensure">>;
  readonly files: AudioFiles;
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal;
}

const USAGE = "[off|always|inbound|tagged|default|status|provider <id>|limit <characters>|summary on|off|audio <text>]";

export function ttsCommand(sources: CommandSources): ChatCommand {
  return {
    summary: "Speak answers in this conversation, or one text",
    usage: USAGE,
    async run(call) {
      const [word = ""] = call.text.split(/\s/, 1);
      const rest = call.text.slice(word.length).trim();
      return { reply: await act(word.toLowerCase(), rest, call, sources) };
    },
  };
}

async function act(word: string, rest: string, call: ChatCommandCall, sources: CommandSources): Promise<string> {
  const { prefs, signal } = sources;
  if (word === "provider" && rest !== "") return `Speech engine: ${await selectEngine(rest, sources)}.`;
  if (word === "audio" && rest !== "") return say(rest, call, sources);
  if (word === "limit" && /^[1-9]\d{0,5}$/.test(rest)) {
    await prefs.change({ maxLength: Number(rest) });
    return `Texts above ${rest} characters are shortened before they are spoken.`;
  }
  if (word === "summary" && (rest === "on" || rest === "off")) {
    await prefs.change({ summarize: rest === "on" });
    return rest === "on" ? "Long texts are summarized." : "Long texts are cut.";
  }
  if (rest !== "" || !["", "status", "default", ...AUTO].includes(word))
    return invalidRequest(`/tts does not know "${call.text}"; usage: /tts ${USAGE}`);
  if (matches(SpeechAuto, word) || word === "default") await setAuto(word, call, sources);
  const auto = await sources.speech.auto(call.sessionKey);
  const { provider, fallbackProviders } = await statusOf(sources, signal);
  const others = fallbackProviders.length === 0 ? "" : `, then ${fallbackProviders.join(", ")}`;
  return `Answers in this conversation: ${SPOKEN[auto]}. Speech engine: ${provider}${others}.`;
}

const SPOKEN = {
  off: "not spoken",
  always: "spoken",
  inbound: "spoken after voice messages",
  tagged: "spoken if the agent marks them",
} as const satisfies Record<SpeechAuto, string>;
const AUTO: readonly string[] = Object.keys(SPOKEN);

async function setAuto(word: SpeechAuto | "default", { sessionKey }: ChatCommandCall, { sessions }: CommandSources) {
  const known = sessions.get() ?? invalidRequest("the plugin sessions is not running; see: svc plugins list");
  await known.ensure(sessionKey, { ttsAuto: word === "default" ? undefined : word });
}

async function say(text: string, call: ChatCommandCall, sources: CommandSources): Promise<string> {
  const { address, sessionKey, runId } = call;
  const { speech, files, signal } = sources;
  if (isConversation(address)) {
    const { provider } = await sayInConversation({ id: `tts:${runId}`, text, sessionKey, address }, sources, signal);
    return `Spoken by ${provider}.`;
  }
  const path = await files.add(await speech.speak({ text, sessionKey }, signal));
  return `The audio is on the gateway in ${path}; it is deleted after 5 minutes.`;
}
