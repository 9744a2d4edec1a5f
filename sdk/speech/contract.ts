/** Speech namespace. Spec: §4.1 row "TTS"; protocol/methods-tts.md. Unknown params are ignored. */
import { defineContract } from "../contract.ts";
import { type Static, Type } from "../schema.ts";

/** When answers are spoken: `inbound`: only answers to voice messages; `tagged`: only what the model marks. */
export const SpeechAuto = Type.Enum(["off", "always", "inbound", "tagged"]);
export type SpeechAuto = Static<typeof SpeechAuto>;

const texts = Type.Array(Type.String());
const None = Type.Object({});

/** Speech from text, and whether answers in chats are spoken. */
export const tts = defineContract("tts", {
  status: {
    summary: "Show whether answers are spoken, and by which engine",
    scope: "operator.read",
    params: None,
    result: Type.Object({
      enabled: Type.Boolean({ description: "`auto` is not `off`" }),
      auto: SpeechAuto,
      provider: Type.String(),
      fallbackProvider: Type.Union([Type.String(), Type.Null()]),
      fallbackProviders: texts,
      prefsPath: Type.String(),
      hasOpenAIKey: Type.Boolean(),
      hasElevenLabsKey: Type.Boolean(),
      edgeEnabled: Type.Boolean(),
    }),
  },
  providers: {
    summary: "List the speech engines",
    scope: "operator.read",
    params: None,
    result: Type.Object({
      providers: Type.Array(
        Type.Object({
          id: Type.String(),
          name: Type.String(),
          configured: Type.Boolean(),
          models: texts,
          voices: Type.Optional(texts),
        }),
      ),
      active: Type.String(),
    }),
  },
  enable: {
    summary: "Speak every answer",
    scope: "operator.write",
    params: None,
    result: Type.Object({ enabled: Type.Literal(true) }),
  },
  disable: {
    summary: "Speak no answer",
    scope: "operator.write",
    params: None,
    result: Type.Object({ enabled: Type.Literal(false) }),
  },
  setProvider: {
    summary: "Select the speech engine",
    scope: "operator.write",
    params: Type.Object({ provider: Type.Optional(Type.Unknown({ description: "id of an engine" })) }),
    result: Type.Object({ provider: Type.String() }),
  },
  convert: {
    summary: "Speak a text into a file on the gateway",
    scope: "operator.write",
    params: Type.Object({
      text: Type.Optional(Type.Unknown({ description: "not blank" })),
      channel: Type.Optional(Type.Unknown({ description: "channel whose audio format is used" })),
    }),
    result: Type.Object({
      audioPath: Type.String({ description: "deleted after about 5 minutes" }),
      provider: Type.String(),
      outputFormat: Type.String(),
      voiceCompatible: Type.Boolean({ description: "channels can send it as a voice message" }),
    }),
  },
});
