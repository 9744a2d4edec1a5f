/** The section `talk`. Spec: http/config-keys.md. */
import { type Static, Strict, Type } from "@svc/sdk";
import { SecretSetting } from "@svc/sdk/secrets";

const text = (description: string) => Type.Optional(Type.String({ description, minLength: 1, reload: "hot" }));
const aliases = Type.Optional(
  Type.Record(Type.String(), Type.String(), { description: "names for voice ids", reload: "hot" }),
);
const key = () =>
  Type.Optional(SecretSetting({ description: "key of the speech provider, or a reference to it; never shown again" }));

/** Values of one provider; also accepted beside `provider`, where configurations of earlier clients have them. */
const voice = {
  voiceId: text("voice of the provider"),
  voiceAliases: aliases,
  modelId: text("model of the provider"),
  outputFormat: text("audio format of the provider"),
  apiKey: key(),
};

/** Section `talk`. */
export const TalkConfig = Strict(
  {
    provider: text("provider of the voice; default elevenlabs if voiceId or another value stands beside it"),
    providers: Type.Optional(
      Type.Record(Type.String({ minLength: 1 }), Strict(voice, { description: "voice of one provider" }), {
        description: "voices by provider",
        reload: "hot",
      }),
    ),
    ...voice,
    interruptOnSpeech: Type.Optional(
      Type.Boolean({
        description: "false: the gateway goes on speaking when a person speaks; default true",
        reload: "hot",
      }),
    ),
  },
  { title: "Talk", description: "Voices of clients that speak" },
);
export type TalkConfig = Static<typeof TalkConfig>;
