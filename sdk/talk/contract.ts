/** Talk mode and wake words. Spec: §4.1 rows "Talk" and "Voice wake"; protocol/methods-talk.md, methods-system.md §2. */
import { defineContract, defineEvent } from "../contract.ts";
import { type Static, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());

/** Voice of one speech provider. Further keys are passed on. */
export const TalkProvider = Type.Object(
  {
    voiceId: text,
    voiceAliases: Type.Optional(Type.Record(Type.String(), Type.String())),
    modelId: text,
    outputFormat: text,
    apiKey: Type.Optional(Type.Unknown({ description: "`__SVC_REDACTED__` without `includeSecrets`" })),
  },
  { additionalProperties: true },
);

/** Settings of voice clients. */
export const TalkSettings = Type.Object({
  provider: text,
  providers: Type.Optional(Type.Record(Type.String(), TalkProvider)),
  voiceId: text,
  voiceAliases: Type.Optional(Type.Record(Type.String(), Type.String())),
  modelId: text,
  outputFormat: text,
  apiKey: Type.Optional(Type.Unknown({ description: "`__SVC_REDACTED__` without `includeSecrets`" })),
  interruptOnSpeech: Type.Optional(Type.Boolean({ description: "speech of a person stops the voice" })),
});
export type TalkSettings = Static<typeof TalkSettings>;

const TalkMode = Type.Object({
  enabled: Type.Boolean(),
  phase: Type.Union([Type.String(), Type.Null()]),
  ts: Type.Integer({ description: "epoch ms" }),
});

/** Talk mode of voice clients. */
export const talk = defineContract("talk", {
  config: {
    summary: "Get the voice settings",
    scope: "operator.read",
    params: Strict({
      includeSecrets: Type.Optional(
        Type.Boolean({ description: "needs operator.admin or operator.talk.secrets; default false" }),
      ),
    }),
    result: Type.Object({
      config: Type.Object({
        talk: Type.Optional(TalkSettings),
        session: Type.Optional(Type.Object({ mainKey: text })),
        ui: Type.Optional(Type.Object({ seamColor: text })),
      }),
    }),
  },
  mode: {
    summary: "Tell all clients that talk mode was turned on or off, or which phase it is in",
    scope: "operator.write",
    // Checked by the handler: a missing phone comes before invalid params. Spec: methods-talk.md §2.
    params: Type.Object({
      enabled: Type.Optional(Type.Unknown({ description: "boolean" })),
      phase: Type.Optional(Type.Unknown({ description: "string" })),
    }),
    result: TalkMode,
  },
});

/** Talk mode was turned on or off, or entered another phase. */
export const talkMode = defineEvent({
  name: "talk.mode",
  summary: "Talk mode was turned on or off, or entered another phase",
  payload: TalkMode,
  droppable: true,
});

const Triggers = Type.Object({ triggers: Type.Array(Type.String()) });

/** Words that wake voice clients. */
export const voicewake = defineContract("voicewake", {
  get: {
    summary: "Get the wake words",
    scope: "operator.read",
    params: Type.Object({}),
    result: Triggers,
  },
  set: {
    summary: "Replace the wake words",
    scope: "operator.write",
    params: Type.Object({
      triggers: Type.Array(Type.Unknown(), {
        description: "words; at most 32 of 64 characters are kept; none: the default words",
      }),
    }),
    result: Triggers,
  },
});

/** The wake words changed. Also sent to each node when it connects. */
export const voicewakeChanged = defineEvent({
  name: "voicewake.changed",
  summary: "The wake words changed; also sent to each node when it connects",
  payload: Triggers,
  droppable: true,
});
