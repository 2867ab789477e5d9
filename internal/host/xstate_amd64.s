#include "textflag.h"

// func readXState() (osxsave bool, size uint32)
TEXT ·readXState(SB), NOSPLIT, $0-8
	MOVL $1, AX
	XORL CX, CX
	CPUID
	SHRL $27, CX
	ANDL $1, CX
	MOVB CX, osxsave+0(FP)
	MOVL $0xD, AX
	XORL CX, CX
	CPUID
	MOVL BX, size+4(FP)
	RET
