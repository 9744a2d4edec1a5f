/** Somebody with a phone: a real client on the server of the test. */
import type { TestContext } from "node:test";
import * as baileys from "@whiskeysockets/baileys";
import { createKeys, type Keys } from "../../../plugins/whatsapp-web/keys.ts";
import { library } from "../../../plugins/whatsapp-web/library.ts";
import { openSocket, type Socket } from "../../../plugins/whatsapp-web/socket.ts";
import { until } from "../../until.ts";
import type { FakeWhatsApp } from "./server.ts";

export type Person = Awaited<ReturnType<typeof createPerson>>;

export async function createPerson(t: TestContext, server: FakeWhatsApp, number: string, name = "Ada") {
  server.name(number, name);
  const keys: Keys = createKeys(baileys, new Map(), async () => undefined);
  const settings = { webUrl: server.url, pingMs: 30_000, showOnline: false };
  const sent = new Map<string, baileys.proto.IMessage>();
  const open = async () => openSocket({ library: await library(), keys, settings, sent: async (id) => sent.get(id) });
  const first = await open();
  const qr = await new Promise<string>((resolve) => {
    first.client.ev.on("connection.update", (update) => update.qr && resolve(update.qr));
  });
  await Promise.all([server.scans(qr, number), first.ended]);
  const received: baileys.WAMessage[] = [];
  const socket: Socket = await open();
  t.after(() => socket.end());
  socket.client.ev.on("messages.upsert", ({ messages }) => received.push(...messages));
  await socket.opened;

  const contents = () =>
    received.flatMap((message) => {
      const content = baileys.normalizeMessageContent(message.message);
      return content ? [{ message, content }] : [];
    });
  return {
    number,
    socket,
    received,
    contents,
    /** Texts that arrived, and those of edited messages. */
    heard: () =>
      contents().flatMap(({ content }) => {
        const edited = baileys.normalizeMessageContent(content.protocolMessage?.editedMessage) ?? content;
        const text = edited.conversation ?? edited.extendedTextMessage?.text ?? edited.imageMessage?.caption;
        return text ? [text] : [];
      }),
    async sends(to: string, content: baileys.AnyMessageContent, options: baileys.MiscMessageGenerationOptions = {}) {
      const jid = to.includes("@") ? to : `${to}@s.whatsapp.net`;
      const message = await socket.client.sendMessage(jid, content, options);
      if (message?.key.id && message.message) sent.set(message.key.id, message.message);
      return message;
    },
    /** Waits for the first message that is like this. */
    async gets(like: (content: baileys.proto.IMessage) => unknown, what: string) {
      await until(() => contents().some(({ content }) => like(content)), what);
      return contents().find(({ content }) => like(content))?.message;
    },
  };
}
