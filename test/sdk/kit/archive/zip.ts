/** Zip archives, written byte by byte: a library would correct what is wrong with them. */
import { deflateRawSync } from "node:zlib";

export interface Entry {
  readonly path: string;
  readonly content?: string | Buffer;
  /** Unix mode with the type of the file. Default: a regular file, 0644. */
  readonly mode?: number;
  readonly isEncrypted?: boolean;
  /** Unpacked size that the archive says. Default: the true one. */
  readonly said?: number;
}

export function zip(...entries: Entry[]): Buffer {
  const [locals, centrals]: [Buffer[], Buffer[]] = [[], []];
  let offset = 0;
  for (const { path, content = "", mode = 0o100644, isEncrypted = false, said } of entries) {
    const body = Buffer.from(content);
    const packed = deflateRawSync(body);
    const name = Buffer.from(path);
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(isEncrypted ? 1 : 0, 2);
    shared.writeUInt16LE(8, 4);
    shared.writeUInt32LE(crc32(body), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(said ?? body.length, 18);
    shared.writeUInt16LE(name.length, 22);
    const more = Buffer.alloc(14);
    more.writeUInt32LE((mode << 16) >>> 0, 6);
    more.writeUInt32LE(offset, 10);
    centrals.push(Buffer.concat([Buffer.from("PK\x01\x02"), Buffer.from([20, 3]), shared, more, name]));
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), shared, name, packed]);
    locals.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(centrals);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, central, Buffer.from("PK\x05\x06"), end]);
}

function crc32(bytes: Buffer): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
