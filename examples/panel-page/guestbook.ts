/** A page and a card in the control panel: a guestbook. The page is in `page/`; nothing is built. */
import { readFile } from "node:fs/promises";
import { defineContract, defineEvent, definePlugin, Strict, Type } from "@svc/sdk";
import { PanelCard, PanelPage } from "@svc/sdk/panel";

const Entry = Strict({ name: Type.String({ minLength: 1, maxLength: 100 }) });

export const guestbook = defineContract("guestbook", {
  list: {
    summary: "Names in the guestbook, oldest first",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({ names: Type.Array(Type.String()) }),
  },
  sign: { summary: "Sign the guestbook", scope: "operator.write", params: Entry, result: Type.Object({}) },
});

export const guestbookSigned = defineEvent({
  name: "guestbook.signed",
  summary: "Somebody signed the guestbook",
  payload: Entry,
});

/** Names that are kept. */
const MAX_NAMES = 1_000;

/** The files of the page. A list, so that no address leads to another file. */
const FILES: ReadonlyMap<string, string> = new Map([
  ["index.html", "text/html; charset=utf-8"],
  ["page.js", "text/javascript; charset=utf-8"],
  ["style.css", "text/css; charset=utf-8"],
]);

export default definePlugin({
  id: "guestbook",
  api: "^1.0.0",
  setup(gateway) {
    const names: string[] = [];
    const signed = gateway.event(guestbookSigned);
    gateway.serve(guestbook, {
      list: () => ({ names }),
      sign({ params }) {
        names.push(params.name);
        if (names.length > MAX_NAMES) names.shift();
        signed(params);
        return {};
      },
    });

    gateway.extend(PanelPage, "guestbook", {
      title: "Guestbook",
      icon: "📖",
      methods: ["guestbook.list", "guestbook.sign"],
      events: ["guestbook.signed"],
      async file(path) {
        const type = FILES.get(path);
        return type === undefined
          ? undefined
          : { type, bytes: await readFile(new URL(`page/${path}`, import.meta.url)) };
      },
    });
    gateway.extend(PanelCard, "guestbook", {
      title: "Guestbook",
      read: async () => ({
        rows: [
          { label: "Entries", value: String(names.length), tone: names.length > 0 ? "good" : "neutral" },
          { label: "Last", value: names.at(-1) ?? "nobody yet" },
        ],
        page: "guestbook",
      }),
    });
  },
});
