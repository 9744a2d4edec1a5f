/** `svc tts status|providers|use|on|off|say`. */
import { copyFile } from "node:fs/promises";
import { resolve } from "node:path";
import { unavailable } from "@svc/sdk";
import { askingWith, defineCommands, show, table, visible } from "@svc/sdk/cli";
import { tts } from "@svc/sdk/speech";

const asking = askingWith({ plugin: "tts", step: "svc tts status" });
/** The gateway waits for at most 2 engines of 2 minutes each. */
const SAY_MS = 250_000;

export default defineCommands([
  {
    name: "tts status",
    summary: "Show whether answers are spoken, and by which engine",
    examples: ["svc tts status"],
    run: (context) =>
      asking(context, ["operator.read"], async (client) =>
        show(context, await client.call(tts.status, {}), ({ auto, provider, fallbackProviders, prefsPath }) => [
          `Answers: ${auto}`,
          `Engine: ${visible([provider, ...fallbackProviders].join(", then "))}`,
          `Preferences: ${visible(prefsPath)}`,
        ]),
      ),
  },
  {
    name: "tts providers",
    summary: "List the speech engines",
    examples: ["svc tts providers"],
    run: (context) =>
      asking(context, ["operator.read"], async (client) =>
        show(context, await client.call(tts.providers, {}), ({ providers, active }) =>
          table([
            ["Engine", "Name", "Ready", "Selected"],
            ...providers.map(({ id, name, configured }) => [
              id,
              name,
              configured ? "yes" : "no",
              id === active ? "yes" : "",
            ]),
          ]),
        ),
      ),
  },
  {
    name: "tts use",
    summary: "Select the speech engine",
    args: "<engine>",
    examples: ["svc tts use espeak"],
    run: (context) =>
      asking(
        context,
        ["operator.write"],
        async (client) =>
          show(context, await client.call(tts.setProvider, { provider: context.args[0] }), ({ provider }) => [
            `Engine: ${visible(provider)}`,
          ]),
        "svc tts providers",
      ),
  },
  {
    name: "tts on",
    summary: "Speak every answer in channels",
    examples: ["svc tts on"],
    run: (context) =>
      asking(context, ["operator.write"], async (client) =>
        show(context, await client.call(tts.enable, {}), () => ["Answers: always"]),
      ),
  },
  {
    name: "tts off",
    summary: "Speak no answer",
    examples: ["svc tts off"],
    run: (context) =>
      asking(context, ["operator.write"], async (client) =>
        show(context, await client.call(tts.disable, {}), () => ["Answers: off"]),
      ),
  },
  {
    name: "tts say",
    summary: "Speak a text into a file",
    args: "<text...>",
    options: [
      { flags: "--out <file>", description: "copy the audio to this file; the gateway must run on this machine" },
      { flags: "--channel <id>", description: "use the audio format of this channel" },
    ],
    examples: ["svc tts say The build is green", "svc tts say Hello --out hello.mp3"],
    async run(context) {
      const { out, channel } = context.options;
      const params = { text: context.args.join(" "), channel };
      const spoken = await asking(
        context,
        ["operator.write"],
        (client) => client.call(tts.convert, params, { timeoutMs: SAY_MS }),
        "svc tts providers",
      );
      const path = typeof out === "string" ? resolve(out) : undefined;
      if (path !== undefined) await copied(spoken.audioPath, path);
      const place = path ?? `${spoken.audioPath} (on the gateway, deleted after 5 minutes)`;
      show(context, { ...spoken, ...(path && { out: path }) }, ({ provider, outputFormat }) => [
        `Spoken by ${visible(provider)} as ${visible(outputFormat)}: ${visible(place)}`,
      ]);
    },
  },
]);

async function copied(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to);
  } catch (error) {
    unavailable(`${from} cannot be copied to ${to}: --out needs a gateway on this machine, and a writable directory`, {
      cause: error,
    });
  }
}
