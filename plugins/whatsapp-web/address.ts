/** Addresses of WhatsApp, as people and the gateway write them, and as the network has them. Pure. */

const DIGITS = /^[1-9]\d{6,14}$/;
/** A person whose number is hidden: an id that is the same in all chats. */
const HIDDEN = /^lid:\d{5,20}$/;
const GROUP = /^\d{5,25}(?:-\d{5,15})?@g\.us$/;

export const isGroup = (address: string): boolean => GROUP.test(address);

/** Digits of a number, `lid:<digits>` or the id of a group; `undefined`: neither. */
export function addressOf(text: string): string | undefined {
  const plain = text
    .trim()
    .toLowerCase()
    .replace(/^(?:whatsapp|user|group):/, "")
    .replace(/@(?:s\.whatsapp\.net|c\.us)$/, "")
    .replace(/^(\d+)@lid$/, "lid:$1");
  const digits = /^\+[\d\s().-]+$/.test(plain) ? plain.replace(/\D/g, "") : plain;
  return [DIGITS, HIDDEN, GROUP].some((pattern) => pattern.test(digits)) ? digits : undefined;
}

/** The address on the network of what `addressOf` returned. */
export function jidOf(address: string): string {
  if (isGroup(address)) return address;
  return address.startsWith("lid:") ? `${address.slice(4)}@lid` : `${address}@s.whatsapp.net`;
}

/** The address of a person, without the device. `undefined`: not a person. */
export function personOf(jid: string): string | undefined {
  const [, user = "", server] = /^(\d+)(?:_\d+)?(?::\d+)?@(.+)$/.exec(jid) ?? [];
  if (server === "s.whatsapp.net" || server === "c.us" || server === "hosted") return user;
  return server === "lid" || server === "hosted.lid" ? `lid:${user}` : undefined;
}
