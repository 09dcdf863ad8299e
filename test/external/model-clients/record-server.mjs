// Starts an MCP server and appends what the client sends it to a file, line by line. Usage:
// node record-server.mjs FILE COMMAND ARGUMENT...
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';

const [file, command, ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ['pipe', 'inherit', 'inherit'] });
server.stdin.on('error', () => {});
server.on('close', (code) => process.exit(code ?? 1));
process.on('SIGTERM', () => server.kill());
process.stdin.pipe(createWriteStream(file, { flags: 'a' }));
process.stdin.pipe(server.stdin);
