/** The kinds of plugins that can be created, and the package facts of each. Pure. */

export const KINDS = ["namespace", "channel", "tool", "provider", "transform"] as const;
export type Kind = (typeof KINDS)[number];

/** Values for the placeholders in templates. */
export interface Names {
  /** The name as typed, e.g. `word-count`. */
  readonly name: string;
}

interface Facts {
  readonly description: string;
  /** The package depends on `@svc/kit`. */
  readonly usesKit?: boolean;
  /** Absent: the package is no plugin; its file goes to the transforms directory. */
  readonly svc?: (names: Names) => Readonly<Record<string, unknown>>;
}

/** For plugins that can run in another thread or process. */
const ANYWHERE = { supports: ["host", "worker", "process"], default: "worker" };

export const FACTS: Readonly<Record<Kind, Facts>> = {
  namespace: {
    description: "Methods and an event for the svc gateway.",
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
    description: "A tool for language models, for the svc gateway.",
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

/** Replaces the placeholders in a template, or in the path of a template. */
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
