/** `svc media ...`: tries the configuration of `tools.media` with a file. */
import { readFile, stat } from "node:fs/promises";
import { invalidRequest, notFound } from "@svc/sdk";
import { askingWith, type CommandContext, defineCommands, show, visibleLines } from "@svc/sdk/cli";
import { unwrapped } from "@svc/sdk/external-content";
import { MAX_TRIED_BYTES, media } from "@svc/sdk/media";

/** Choice: milliseconds; several engines may be tried, and a local one may load its model first. */
const TIMEOUT_MS = 600_000;

const ask = askingWith({
  plugin: "media",
  step: ({ code }) => (code === "UNAVAILABLE" ? "svc config get tools.media" : undefined),
});

export default defineCommands([
  {
    name: "media transcribe",
    summary: "Transcribe a sound file, as voice messages are",
    args: "<file>",
    examples: ["svc media transcribe note.ogg"],
    run: (context) =>
      ask(context, ["operator.write"], async (client) => {
        const data = await dataOf(context);
        const answer = await client.call(media.transcribe, { data }, { timeoutMs: TIMEOUT_MS });
        show(context, answer, ({ text }) => [text === "" ? "(no words)" : visibleLines(text)]);
      }),
  },
  {
    name: "media describe",
    summary: "Describe a picture or a video, as for a model that accepts none",
    args: "<file>",
    examples: ["svc media describe cat.jpg", "svc media describe clip.mp4 --json"],
    run: (context) =>
      ask(context, ["operator.write"], async (client) => {
        const data = await dataOf(context);
        const answer = await client.call(media.describe, { data }, { timeoutMs: TIMEOUT_MS });
        show(context, answer, ({ descriptions }) =>
          descriptions.map(({ text, by }) => visibleLines(`${by}: ${withoutHead(unwrapped(text))}`)),
        );
      }),
  },
]);

/** Without the lines that say where an external text comes from. */
function withoutHead(text: string): string {
  const [, body = text] = text.split("\n---\n");
  return body.trim();
}

async function dataOf({ args: [path = ""] }: CommandContext): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) return notFound(`there is no file ${path}`);
  if (found.size > MAX_TRIED_BYTES)
    invalidRequest(`${path} has ${found.size} bytes; at most ${MAX_TRIED_BYTES} can be tried`);
  return (await readFile(path)).toString("base64");
}
