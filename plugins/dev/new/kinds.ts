/** The kinds of plugin that can be made, and what the package of each says of it. Pure. */

export const KINDS = ["namespace", "channel", "tool", "provider", "transform"] as const;
export type Kind = (typeof KINDS)[number];

/** What the names in the templates stand for. */
export interface Names {
  /** As it was given: `word-count`. */
  readonly name: string;
}

interface Facts {
  readonly description: string;
  /** It depends on `@svc/kit`. */
  readonly usesKit?: boolean;
  /** Absent: it is no plugin, but a file of the transforms directory. */
  readonly svc?: (names: Names) => Readonly<Record<string, unknown>>;
}

/** Nothing of the host is in reach of them but what crosses to another thread. */
const ANYWHERE = { supports: ["host", "worker", "process"], default: "worker" };

export const FACTS: Readonly<Record<Kind, Facts>> = {
  namespace: {
    description: "Methods and an event of its own, for the svc gateway.",
    svc: ({ name }) => ({ namespaces: [name], permissions: {}, isolation: ANYWHERE }),
  },
  channel: {
    description: "A channel for the svc gateway.",
    svc: ({ name }) => ({
      section: `channels.${name}`,
      contributes: { channel: [name] },
      permissions: { net: ["*:*"] },
      isolation: ANYWHERE,
    }),
  },
  tool: {
    description: "What a language model can do beside talking, for the svc gateway.",
    svc: ({ name }) => ({ contributes: { tool: [snake(name)] }, permissions: {}, isolation: ANYWHERE }),
  },
  provider: {
    description: "Another kind of model server for the svc gateway.",
    usesKit: true,
    svc: ({ name }) => ({
      contributes: { "model.provider": [name] },
      permissions: { net: ["*:*"] },
      isolation: ANYWHERE,
    }),
  },
  transform: { description: "A webhook transform for the svc gateway." },
};

/** A template, or the path of one, with the names in place. */
export function named(text: string, { name }: Names): string {
  return text
    .replaceAll("sample-name", name)
    .replaceAll("sampleName", camel(name))
    .replaceAll("sample_name", snake(name));
}

function camel(name: string): string {
  return name.replace(/-+([a-z0-9]?)/g, (_, letter: string) => letter.toUpperCase());
}

function snake(name: string): string {
  return name.replaceAll("-", "_");
}
