/** The account of the embedded service in tests, and its Authorization headers. */
export const account = { name: 'tester', password: 'pass:word', token: 'token-of-tester' };
export const basic = `Basic ${Buffer.from('tester:pass:word').toString('base64')}`;
export const bearer = 'Bearer token-of-tester';
