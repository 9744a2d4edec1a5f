/** Messages through `imsg rpc`, on this Mac or over SSH. */
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { invalidRequest, notFound, unavailable } from "@svc/sdk";
import type { OutboundMedia } from "@svc/sdk/channels";
import type { Settings } from "./config.ts";
import { type RpcContext, startRpc } from "./rpc.ts";
import type { Server } from "./server.ts";
import { fromImsg, groupOf } from "./translate.ts";

const SEND_MS = 55_000;

/** Starts the program. @throws GatewayError `NOT_LINKED`: it is missing */
export async function connectImsg({ command, pollMs }: Settings, context: Omit<RpcContext, "onNews">): Promise<Server> {
  let onNews = () => {};
  const rpc = await startRpc(command, { ...context, onNews: () => onNews() });
  /** A program that answers this can read the messages. */
  const newestChat = async (signal: AbortSignal) => {
    const { chats } = Object(await rpc.call("chats.list", { limit: 1 }, signal)) as { chats?: unknown }; // checked here
    return Array.isArray(chats) ? (Object(chats[0]) as { id?: unknown }).id : undefined; // only passed on
  };
  const impossible = async () => invalidRequest("imsg cannot do this; next: use BlueBubbles with the private API");

  return {
    async identify(signal) {
      await newestChat(signal);
      return { name: command.join(" "), privateApi: false };
    },

    async newest(signal) {
      const chat = await newestChat(signal);
      if (chat === undefined) return 0;
      const answer = await rpc.call("messages.history", { chat_id: chat, limit: 10 }, signal);
      const { messages } = Object(answer) as { messages?: unknown }; // each is checked
      return Math.max(0, ...(Array.isArray(messages) ? messages : []).flatMap((raw) => fromImsg(raw)?.row ?? []));
    },

    async *feed({ row, signal, nap, wake, malformed }) {
      onNews = wake;
      const since = row > 0 ? { since_rowid: row } : {}; // without a row: from now on
      await rpc.call("watch.subscribe", { ...since, attachments: true, include_reactions: true }, signal);
      for (; ; await nap(pollMs)) {
        const notes = rpc.take();
        if (notes.length === 0) await newestChat(signal);
        const over = notes.find(({ method }) => method === "error" || method === "watch.overflow");
        yield notes.flatMap(({ method, params }) => {
          const { message } = Object(params) as { message?: unknown }; // checked by fromImsg
          const received = method === "message" ? fromImsg(message) : undefined;
          if (method === "message" && !received) malformed(message);
          return received ?? [];
        });
        if (over) unavailable(`imsg stopped watching: ${over.method}`); // the next run continues where this one ended
      }
    },

    async send({ to, text, media, signal }) {
      const chat = groupOf(to);
      const place = chat === undefined ? { to, service: "auto" } : { chat_guid: chat };
      const sent = (content: object) => rpc.call("send", { ...place, ...content }, signal, SEND_MS);
      const result = await (media ? withFile(media, command, (file) => sent({ file })) : sent({ text }));
      const { guid } = Object(result) as { guid?: unknown }; // checked here
      return typeof guid === "string" ? { messageId: guid } : {};
    },

    async file({ ref, maxBytes, signal }) {
      const there = await stat(ref).catch(() => undefined);
      if (!there?.isFile())
        return notFound("the file is only on the Mac; next: run the gateway there, or use BlueBubbles");
      if (there.size > maxBytes) invalidRequest(`the file has ${there.size} bytes, at most ${maxBytes} are accepted`);
      return { bytes: await readFile(ref, { signal }) };
    },

    edit: impossible,
    react: impossible,
    typing: impossible,
    close: () => rpc.close(),
  };
}

/** imsg reads the file while it sends it. */
async function withFile<T>(
  { bytes, name }: OutboundMedia,
  command: readonly string[],
  work: (file: string) => Promise<T>,
) {
  if (basename(command[0] ?? "") === "ssh")
    invalidRequest("imsg on another machine cannot send files of this one; next: use BlueBubbles");
  const directory = await mkdtemp(join(tmpdir(), "svc-imsg-"));
  try {
    const file = join(directory, basename(name));
    await writeFile(file, bytes);
    return await work(file);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
