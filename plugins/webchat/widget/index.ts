/** The script of a page: draws the button, and connects when a person opens the conversation. */
import type { ServerFrame } from "../protocol.ts";
import { connect, type Connection } from "./connection.ts";
import { createFiles } from "./files.ts";
import { createView, REFUSALS } from "./view.ts";

function start({ src, dataset }: HTMLScriptElement): void {
  const { account = "default", title = "Chat", theme = "auto" } = dataset;
  const url = new URL(`${account}/socket`, src);
  url.protocol = url.protocol.replace("http", "ws");
  let connection: Connection | undefined;
  /** Of the visitor whose conversation is shown. */
  let visitor: string | undefined;

  const files = createFiles((frame) => connection?.ask(frame));
  const view = createView({
    title,
    theme,
    fileOf: files.show,
    onOpen: () => {
      view.say("Connecting…");
      connection = connect(url.href, onFrame, (isConnected) =>
        view.say(isConnected ? "" : "Not connected. Trying again…"),
      );
    },
    onSend: (text) => connection?.submit({ type: "send", id: shownAs(text), text }),
    onPress: (messageId, value, label) => connection?.submit({ type: "press", id: shownAs(label), messageId, value }),
  });

  /** Shows an own message. @returns its new id */
  function shownAs(text: string): string {
    const id = newId();
    view.show({ id: `v-${id}`, from: "visitor", text, at: 0 }, "waiting");
    return id;
  }

  function onFrame(frame: ServerFrame): void {
    switch (frame.type) {
      case "welcome":
        if (visitor !== undefined && visitor !== frame.visitor) view.clear();
        if (visitor === undefined && frame.greeting !== undefined)
          view.show({ id: "greeting", from: "agent", text: frame.greeting, at: 0 });
        visitor = frame.visitor;
        for (const message of frame.messages) view.show(message);
        return;
      case "message":
        return view.show(frame);
      case "edit":
        return view.change(frame.messageId, frame.text, frame.buttons);
      case "typing":
        return view.type();
      case "file":
        return files.take(frame);
      case "accepted":
        view.say("");
        return view.mark(frame.messageId, "");
      case "refused":
        view.say(REFUSALS[frame.reason] ?? "The message was not accepted.");
        if (frame.id === undefined) return;
        files.drop(frame.id);
        if (frame.reason !== "rate") view.mark(`v-${frame.id}`, "failed");
    }
  }

  const draw = () => document.body.append(view.host);
  if (document.body) draw();
  else addEventListener("DOMContentLoaded", draw);
}

/** `crypto.randomUUID` exists only in secure contexts. */
function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

if (document.currentScript instanceof HTMLScriptElement) start(document.currentScript);
