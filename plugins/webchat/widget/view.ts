/** The elements of the widget, and what they show. Texts become nodes, never HTML. */
import type { Buttons, ShownMessage } from "../protocol.ts";
import { type Node as MarkdownNode, parse } from "./markdown.ts";
import STYLE from "./style.css";

/** Milliseconds for which typing is shown after its last signal. */
const TYPING_MS = 8_000;
/** Milliseconds after the last change of a draft in which a screen reader does not read it yet. */
const DRAFT_MS = 1_000;

const ICONS = {
  chat: "M21 12a8 8 0 0 1-8 8H4l2-3a8 8 0 1 1 15-5z",
  close: "M6 6l12 12M18 6L6 18",
  send: "M12 19V5M5 12l7-7 7 7",
};

export const REFUSALS: Readonly<Record<string, string>> = {
  rate: "You write faster than messages are accepted here. It is sent in a moment.",
  tabs: "This conversation is open in too many windows. Close one of them.",
  pairing: "The owner has to let you in first; see the code above.",
  "not-allowed": "Messages are not accepted here.",
  gone: "This is not available any more.",
};

export interface ViewOptions {
  readonly title: string;
  readonly theme: string;
  /** The panel opens for the first time. */
  readonly onOpen: () => void;
  readonly onSend: (text: string) => void;
  readonly onPress: (messageId: string, value: string, label: string) => void;
  readonly fileOf: (messageId: string, file: NonNullable<ShownMessage["file"]>) => HTMLElement;
}

export type View = ReturnType<typeof createView>;

export function createView({ title, theme, onOpen, onSend, onPress, fileOf }: ViewOptions) {
  const host = make("div");
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets = [sheet];

  const log = make("div", { className: "log", role: "log", ariaLive: "polite", tabIndex: 0, ariaLabel: title });
  const status = make("div", { className: "status", role: "status" });
  const input = make("textarea", {
    ariaLabel: "Message",
    placeholder: "Write a message",
    rows: 1,
    maxLength: 8_000,
    dir: "auto",
  });
  const sendButton = make("button", { className: "send", type: "submit", ariaLabel: "Send" }, icon("send"));
  const form = make("form", {}, input, sendButton);
  const close = make("button", { className: "close", type: "button", ariaLabel: "Close" }, icon("close"));
  const header = make("header", {}, make("span", { textContent: title, dir: "auto" }), close);
  const panel = make(
    "section",
    { className: "panel", role: "dialog", ariaLabel: title, hidden: true },
    header,
    log,
    status,
    form,
  );
  const launch = make(
    "button",
    { className: "launch", type: "button", ariaLabel: title, ariaExpanded: "false" },
    icon("chat"),
  );
  const typing = make("div", { className: "typing", ariaLabel: "Writing" }, make("i"), make("i"), make("i"));
  root.append(panel, launch);

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = () =>
    (host.dataset["theme"] = ["light", "dark"].includes(theme) ? theme : dark.matches ? "dark" : "light");
  dark.addEventListener("change", paint);
  paint();

  const elements = new Map<string, HTMLElement>();
  let isFirst = true;
  let typingTimer: ReturnType<typeof setTimeout> | undefined;
  let draftTimer: ReturnType<typeof setTimeout> | undefined;

  function toggle(isOpen: boolean): void {
    panel.hidden = !isOpen;
    launch.ariaExpanded = String(isOpen);
    launch.classList.remove("unread");
    host.classList.toggle("open", isOpen);
    if (isOpen && isFirst) onOpen();
    if (isOpen) isFirst = false;
    (isOpen ? input : launch).focus();
    log.scrollTop = log.scrollHeight;
  }
  launch.onclick = () => toggle(panel.hidden !== false);
  close.onclick = () => toggle(false);
  panel.onkeydown = ({ key }) => {
    if (key === "Escape") toggle(false);
  };
  input.onkeydown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text === "") return;
    input.value = "";
    onSend(text);
  };

  /** Changes the log, and keeps its end in view if it was. */
  function scrolled(change: () => void): void {
    const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
    change();
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  }

  function rows(messageId: string, buttons: Buttons = []): HTMLElement[] {
    return buttons.map((row) => {
      const made = row.map(({ label, value, style = "" }) => {
        const button = make("button", { type: "button", className: style, textContent: label, dir: "auto" });
        button.onclick = () => {
          for (const one of made) one.disabled = true;
          onPress(messageId, value, label);
        };
        return button;
      });
      return make("div", { className: "row" }, ...made);
    });
  }

  function fill(
    element: HTMLElement,
    { id, from, text, buttons }: Pick<ShownMessage, "id" | "from" | "text" | "buttons">,
  ): void {
    const words = make("div", {}, ...(from === "visitor" ? [text] : parse(text).map(nodeOf)));
    const kept = [...element.children].filter((child) => child.className === "file");
    element.replaceChildren(...(text === "" ? [] : [words]), ...kept, ...rows(id, buttons));
  }

  function show(message: ShownMessage, state = ""): void {
    scrolled(() => {
      const known = elements.get(message.id);
      const element = known ?? make("div", { dir: "auto" });
      element.className = `message ${message.from} ${state}`;
      if (message.file && !known) element.append(fileOf(message.id, message.file));
      fill(element, message);
      elements.set(message.id, element);
      if (message.from === "agent") typing.remove();
      if (!known) log.append(element, ...(typing.isConnected ? [typing] : []));
      if (message.from === "agent" && panel.hidden !== false) launch.classList.add("unread");
    });
  }

  return {
    host,
    show,
    change(id: string, text: string, buttons?: Buttons) {
      const element = elements.get(id);
      if (!element) return;
      typing.remove();
      log.ariaBusy = "true";
      clearTimeout(draftTimer);
      draftTimer = setTimeout(() => (log.ariaBusy = "false"), DRAFT_MS);
      scrolled(() => fill(element, { id, from: "agent", text, ...(buttons ? { buttons } : {}) }));
    },
    /** The state of an own message: `waiting`, `failed`, or sent. */
    mark(id: string, state: string) {
      const element = elements.get(id);
      if (element) element.className = `message visitor ${state}`;
    },
    type() {
      clearTimeout(typingTimer);
      typingTimer = setTimeout(() => typing.remove(), TYPING_MS);
      scrolled(() => log.append(typing));
    },
    say: (text: string) => (status.textContent = text),
    clear() {
      log.replaceChildren();
      elements.clear();
    },
  };
}

function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function icon(name: keyof typeof ICONS): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

function nodeOf(node: MarkdownNode): Node {
  if (typeof node === "string") return document.createTextNode(node);
  const element = make(node.tag, { dir: node.tag === "pre" ? "ltr" : "auto" });
  if (node.tag === "br" || node.tag === "code") element.removeAttribute("dir");
  if (element instanceof HTMLAnchorElement && node.href !== undefined)
    Object.assign(element, { href: node.href, target: "_blank", rel: "noopener noreferrer nofollow" });
  if (element instanceof HTMLOListElement) element.start = node.start ?? 1;
  element.append(...node.children.map(nodeOf));
  return element;
}
