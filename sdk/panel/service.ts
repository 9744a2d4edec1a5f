/** Extension points of the control panel: pages and cards of plugins. Data and promises only. */
import { type Static, Type } from "../schema.ts";
import { defineExtensionPoint } from "../service.ts";

/** A file of a page. */
export interface PageFile {
  /** Media type, e.g. `text/html; charset=utf-8`. */
  readonly type: string;
  readonly bytes: Uint8Array | string;
}

/**
 * A page of a plugin in the control panel. It runs in a sandboxed frame without network, cookies and credentials, and
 * loads only its own files. It loads `/__svc/bridge.js` of the panel with a plain `<script src>` and then talks to its
 * own plugin: `const gateway = await svcPanel.connect()`, `await gateway.call("greet.hello", params)`,
 * `gateway.on("greet.said", listener)`. The methods run with the rights of the person who opened the panel.
 */
export interface PanelPage {
  /** Shown in the navigation. */
  readonly title: string;
  /** One emoji. Default: a generic symbol. */
  readonly icon?: string;
  /** Methods that the page may call; only methods of the same plugin count. */
  readonly methods?: readonly string[];
  /** Events that the page receives; only events of the same plugin count. */
  readonly events?: readonly string[];
  /**
   * @param path below the page, without a leading slash; `index.html` for the page itself. `undefined`: there is no such
   * file. Files are public: anyone who reaches the port can read them
   */
  file(path: string): Promise<PageFile | undefined>;
}

/** Token of the extension point. */
export const PanelPage = defineExtensionPoint<PanelPage>("panel.page", {
  summary: "Pages in the control panel. Owned by the plugin `control-panel`; contributed by plugins that bring a page.",
  remotable: true,
});

const Tone = Type.Enum(["neutral", "good", "warning", "bad"]);

/** What a card shows, as plain text. */
export const CardContent = Type.Object({
  rows: Type.Array(
    Type.Object({
      label: Type.String({ maxLength: 80 }),
      value: Type.String({ maxLength: 400 }),
      tone: Type.Optional(Tone),
    }),
    { maxItems: 20 },
  ),
  text: Type.Optional(Type.String({ maxLength: 2_000, description: "shown below the rows" })),
  page: Type.Optional(Type.String({ description: "id of the page of this plugin that the card opens" })),
});
export type CardContent = Static<typeof CardContent>;

/** A card on the overview of the control panel. */
export interface PanelCard {
  readonly title: string;
  /** Called whenever the overview is shown. Must answer within 5 seconds; a failure is shown in the card. */
  read(): Promise<CardContent>;
}

/** Token of the extension point. */
export const PanelCard = defineExtensionPoint<PanelCard>("panel.card", {
  summary:
    "Cards on the overview of the control panel. Owned by the plugin `control-panel`; contributed by plugins with a state worth a look.",
  remotable: true,
});
