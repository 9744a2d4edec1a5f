/** Files of agents: fetched in parts, shown as pictures or saved. */
import type { ClientFrame, ServerFrame, ShownMessage } from "../protocol.ts";

type File = NonNullable<ShownMessage["file"]>;
type Part = Extract<ServerFrame, { type: "file" }>;

/** Pictures that cannot contain scripts. Everything else is only saved, never opened: it would be part of this page. */
const PICTURES = /^image\/(?:png|jpeg|gif|webp|avif)$/;

export interface Files {
  /** The element of a file; a picture is fetched at once. */
  show(messageId: string, file: File): HTMLElement;
  take(part: Part): void;
  /** The file does not exist any more. */
  drop(messageId: string): void;
}

export function createFiles(ask: (frame: ClientFrame) => void): Files {
  const fetching = new Map<string, { readonly parts: BlobPart[]; readonly done: (parts: BlobPart[]) => void }>();
  const fetchFile = (messageId: string, done: (parts: BlobPart[]) => void) => {
    fetching.set(messageId, { parts: [], done });
    ask({ type: "file", messageId, offset: 0 });
  };
  return {
    show(messageId, { name, mimeType, size }) {
      const button = document.createElement("button");
      button.className = "file";
      button.textContent = `${name} (${Math.ceil(size / 1_000)} kB)`;
      button.onclick = () => fetchFile(messageId, (parts) => save(name, parts));
      if (PICTURES.test(mimeType))
        fetchFile(messageId, (parts) => {
          const picture = document.createElement("img");
          picture.alt = name;
          picture.onload = () => button.replaceChildren(picture);
          picture.src = URL.createObjectURL(new Blob(parts, { type: mimeType }));
        });
      return button;
    },
    take({ messageId, offset, data, isLast }) {
      const found = fetching.get(messageId);
      if (!found) return;
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      found.parts.push(bytes);
      if (!isLast) return ask({ type: "file", messageId, offset: offset + bytes.length });
      fetching.delete(messageId);
      found.done(found.parts);
    },
    drop: (messageId) => void fetching.delete(messageId),
  };
}

function save(name: string, parts: BlobPart[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
