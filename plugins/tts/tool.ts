/** The tool `tts`: an agent speaks a text. Spec: http/tools-invoke.md §5. */
import { invalidRequest, Strict, Type } from "@svc/sdk";
import { defineTool, type Tool } from "@svc/sdk/tools";
import type { AudioFiles } from "./audio-files.ts";
import { type ConversationSources, isConversation, sayInConversation } from "./sending.ts";

const Params = Strict({
  text: Type.Optional(Type.String({ description: "words to speak, without markup; required" })),
  channel: Type.Optional(
    Type.String({ description: "channel whose audio format is used, outside of a conversation of a channel" }),
  ),
});

export function ttsTool(sources: ConversationSources & { readonly files: AudioFiles }): Tool {
  const { speech, files } = sources;
  return defineTool({
    label: "Speech",
    description:
      "Speaks a text. In a conversation of a channel, the person gets the audio as a message of its own; elsewhere the result " +
      "names an audio file. Use it when somebody asks for a voice message.",
    params: Params,
    scope: "operator.write",
    effects: ["spends"],
    brings: "none",
    async run({ text = "", channel }, { call, signal }) {
      if (text.trim() === "") invalidRequest("text required");
      const { sessionKey, address, runId, toolCallId } = call;
      if (isConversation(address)) {
        const id = `tts:${runId}:${toolCallId}`;
        const { provider, format, isVoice } = await sayInConversation(
          { id, text, sessionKey, address },
          sources,
          signal,
        );
        return {
          content: [{ type: "text", text: "The audio was sent to this conversation; do not repeat the words." }],
          details: { sent: true, provider, outputFormat: format, voiceCompatible: isVoice },
        };
      }
      const format = channel === undefined ? {} : { channel };
      const spoken = await speech.speak({ text, sessionKey, ...format }, signal);
      const audioPath = await files.add(spoken);
      const { provider, format: outputFormat, isVoice: voiceCompatible } = spoken;
      return {
        content: [
          { type: "text", text: `The audio is on the gateway in ${audioPath}; it is deleted after 5 minutes.` },
        ],
        details: { audioPath, provider, outputFormat, voiceCompatible },
      };
    },
  });
}
